//! Which events somebody sees, and what is shown with each.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::{
    flow::{
        archive::{Archive, EventFilter, Placed, Recorded},
        ledger::Error,
    },
    http::{
        names::Directory,
        problem::Problem,
        wire::{Beside, Conversation, Event, Message},
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
                _ => return Err(Problem::invalid("/include", "is not one of conversation, message")),
            }
        }
        Ok(view)
    }

    /// Every event, with both beside it.
    pub(crate) fn of_all() -> Self {
        Self { filter: EventFilter::default(), conversation: true, message: true }
    }

    /// Whether anything is shown beside.
    pub(crate) const fn includes(&self) -> bool {
        self.conversation || self.message
    }

    /// Whether that event is seen: the archive's rule for lists, for events that pass by.
    pub(crate) fn shows(&self, recorded: &Recorded) -> bool {
        let (wanted, event) = (&self.filter, &recorded.event);
        wanted.conversation.is_none_or(|id| event.conversation == Some(id))
            && wanted.channel.as_ref().is_none_or(|channel| event.channel == *channel)
            && event.is_for(wanted.viewer, wanted.channels.as_deref())
            && (wanted.kinds.is_empty() || wanted.kinds.contains(&event.kind))
            && wanted.message.is_none_or(|id| event.message == Some(id))
            && wanted.turn.is_none_or(|id| event.turn == Some(id))
            && wanted.since.is_none_or(|since| event.at >= since)
            && wanted.until.is_none_or(|until| event.at < until)
    }

    /// The events, with what is shown beside them as it is now: a few looks, however many they are.
    pub(crate) async fn events(
        &self,
        archive: &dyn Archive,
        directory: &Directory,
        recorded: &[&Recorded],
    ) -> Result<Vec<Event>, Error> {
        let names = directory.names().await;
        let ids = |id: fn(&Recorded) -> Option<Uuid>| -> Vec<Uuid> {
            recorded.iter().filter_map(|recorded| id(recorded)).collect::<HashSet<_>>().into_iter().collect()
        };
        let (mut conversations, mut messages, mut beside) =
            (HashMap::new(), HashMap::new(), Beside::default());
        if self.conversation {
            for overview in archive.overviews(&ids(|it| it.event.conversation)).await? {
                conversations.insert(overview.conversation.id, overview);
            }
        }
        if self.message {
            for placed in archive.placed(&ids(|it| it.event.message)).await? {
                messages.insert(placed.message.id, placed);
            }
            if !messages.is_empty() {
                let ids: Vec<Uuid> = messages.keys().copied().collect();
                beside = Beside::of(archive.beside(&ids).await?);
            }
        }
        let shown = recorded.iter().map(|recorded| {
            let mut shown = Event::from(*recorded);
            if self.conversation {
                let found = recorded.event.conversation.and_then(|id| conversations.get(&id).cloned());
                shown.conversation = Some(found.map(|overview| Conversation::of(overview, &names)));
            }
            if self.message {
                let found = recorded.event.message.and_then(|id| messages.get(&id).cloned());
                let message =
                    |placed: Placed| Message::of(placed.conversation, placed.message, &names, &beside);
                shown.message = Some(found.map(message));
            }
            shown
        });
        Ok(shown.collect())
    }
}
