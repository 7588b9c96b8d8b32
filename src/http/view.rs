//! Which events somebody sees, and what is shown beside each.

use crate::{
    flow::{
        archive::{EventFilter, Recorded},
        ledger::Error,
    },
    http::{
        doors::Doors,
        problem::Problem,
        wire::{Conversation, Event, Message},
    },
};

/// A look at events, in a list or in the live feed.
pub(crate) struct View {
    /// Which events.
    pub(crate) filter: EventFilter,
    conversation: bool,
    message: bool,
}

impl View {
    /// `include` names what is shown beside each event: `conversation`, `message`.
    pub(crate) fn new(filter: EventFilter, include: Option<&str>) -> Result<Self, Problem> {
        let mut view = Self { filter, conversation: false, message: false };
        for word in include.into_iter().flat_map(|include| include.split(',')) {
            match word.trim() {
                "conversation" => view.conversation = true,
                "message" => view.message = true,
                _ => return Err(Problem::invalid("/include", "is none of conversation, message")),
            }
        }
        Ok(view)
    }

    /// Whether anything is shown beside.
    pub(crate) const fn includes(&self) -> bool {
        self.conversation || self.message
    }

    /// Whether that event is seen: the archive's rule for lists, for events that pass by.
    pub(crate) fn shows(&self, recorded: &Recorded) -> bool {
        let (wanted, event) = (&self.filter, &recorded.event);
        wanted.conversation.is_none_or(|id| event.conversation == Some(id))
            && (event.kind.concerns_every_channel()
                || wanted.channels.as_ref().is_none_or(|channels| channels.contains(&event.channel)))
            && (wanted.kinds.is_empty() || wanted.kinds.contains(&event.kind))
            && wanted.message.is_none_or(|id| event.message == Some(id))
            && wanted.turn.is_none_or(|id| event.turn == Some(id))
            && wanted.since.is_none_or(|since| event.at >= since)
            && wanted.until.is_none_or(|until| event.at < until)
    }

    /// The event, with what is shown beside it as it is now.
    pub(crate) async fn event(&self, doors: &Doors, recorded: &Recorded) -> Result<Event, Error> {
        let (archive, names) = (&doors.archive, doors.directory.names().await);
        let mut shown = Event::from(recorded);
        if self.conversation {
            let found = match recorded.event.conversation {
                Some(id) => archive.conversation(id).await?,
                None => None,
            };
            shown.conversation = Some(found.map(|overview| Conversation::of(overview, &names)));
        }
        if self.message {
            let found = match recorded.event.message {
                Some(id) => archive.message(id).await?,
                None => None,
            };
            shown.message =
                Some(found.map(|placed| Message::of(placed.conversation, placed.message, &names)));
        }
        Ok(shown)
    }
}
