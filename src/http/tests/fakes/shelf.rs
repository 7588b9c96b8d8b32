use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use uuid::Uuid;

use super::{Log, away, event};
use crate::{
    domain::{
        chat::ChatId,
        conversation::Lease,
        draft::Draft,
        event::{Event, EventType},
        message::Message,
        time::Time,
        turn::{DeadLetter, FollowUp, Turn},
    },
    flow::{
        archive::{
            Archive, Bucket, ConversationFilter, Counts, Depths, EventFeed, EventFilter, Exchanged,
            FollowUpFilter, HeldBack, LetterFilter, MessageFilter, Overview, Page, PageOf, Placed, Recorded,
            Statistics, Tail, Usage, Window,
        },
        ledger::Error,
    },
};

/// The agent who holds two conversations, as far as they are counted.
pub(in super::super) const HOLDER: Uuid = Uuid::from_u128(7);

/// The archive: what a test has put on the shelf. Events are named `e1`, `e2`, ….
#[derive(Default)]
pub(in super::super) struct Shelf {
    pub(in super::super) overviews: Mutex<Vec<Overview>>,
    pub(in super::super) messages: Mutex<Vec<Placed>>,
    pub(in super::super) turns: Mutex<Vec<(Uuid, Turn)>>,
    pub(in super::super) drafts: Mutex<Vec<(Uuid, Draft)>>,
    pub(in super::super) letters: Mutex<Vec<DeadLetter>>,
    pub(in super::super) events: Mutex<Vec<Event>>,
    pub(in super::super) asked: Log,
    pub(in super::super) is_away: AtomicBool,
    /// Conversations cannot be counted in time.
    pub(in super::super) is_slow: AtomicBool,
    /// The export's page from this message on cannot be read.
    pub(in super::super) broken_at: Mutex<Option<usize>>,
    /// What holds the feed back.
    pub(in super::super) held_back: Mutex<Option<HeldBack>>,
    /// The feed cannot be read from here, once.
    pub(in super::super) unreadable_after: Mutex<Option<&'static str>>,
    /// Ids up to this number cannot be resumed from.
    pub(in super::super) forgotten: Mutex<usize>,
}

impl Shelf {
    pub(in super::super) fn put(&self, overview: Overview) -> Uuid {
        let id = overview.conversation.id;
        self.overviews.lock().unwrap().push(overview);
        id
    }

    pub(in super::super) fn happen(&self, channel: &str, kind: EventType) {
        self.events.lock().unwrap().push(event(channel, kind));
    }

    fn look(&self) -> Result<(), Error> {
        if self.is_away.load(Ordering::SeqCst) { Err(away()) } else { Ok(()) }
    }

    fn recorded(&self, from: usize) -> Vec<Recorded> {
        let events = self.events.lock().unwrap();
        let after = events.iter().cloned().enumerate().skip(from);
        after.map(|(at, event)| Recorded { id: format!("e{}", at + 1), event }).collect()
    }
}

#[async_trait]
impl Archive for Shelf {
    async fn conversation(&self, id: Uuid) -> Result<Option<Overview>, Error> {
        self.look()?;
        Ok(self.overviews.lock().unwrap().iter().find(|it| it.conversation.id == id).cloned())
    }

    async fn conversation_of(&self, channel: &str, chat: &ChatId) -> Result<Option<Overview>, Error> {
        self.look()?;
        let all = self.overviews.lock().unwrap();
        Ok(all.iter().find(|it| it.conversation.channel == channel && it.conversation.chat == *chat).cloned())
    }

    async fn overviews(&self, ids: &[Uuid]) -> Result<Vec<Overview>, Error> {
        self.look()?;
        let all = self.overviews.lock().unwrap();
        Ok(all.iter().filter(|it| ids.contains(&it.conversation.id)).cloned().collect())
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
        page: &PageOf,
    ) -> Result<Page<Overview>, Error> {
        self.look()?;
        self.asked.lock().unwrap().push(format!("{filter:?} {page:?}"));
        if page.cursor.as_deref() == Some("nonsense") {
            return Err(Error::NotACursor);
        }
        let mut items = self.overviews.lock().unwrap().clone();
        items.retain(|it| {
            filter.channels.as_ref().is_none_or(|names| names.contains(&it.conversation.channel))
        });
        Ok(Page { items, next: None })
    }

    async fn counts(&self, filter: &ConversationFilter) -> Result<Counts, Error> {
        self.asked.lock().unwrap().push(format!("{filter:?}"));
        Ok(Counts { needs_you: 1, held: HashMap::from([(HOLDER, 2)]), ai: 3, all: 7, unread: 4 })
    }

    async fn messages(&self, conversation: Uuid, _: Window, limit: usize) -> Result<Vec<Message>, Error> {
        let all = self.messages.lock().unwrap();
        let mine = all.iter().filter(|placed| placed.conversation == conversation).rev();
        Ok(mine.take(limit).map(|placed| placed.message.clone()).collect())
    }

    async fn exchanged(&self, filter: &MessageFilter, page: &PageOf) -> Result<Page<Exchanged>, Error> {
        self.look()?;
        self.asked.lock().unwrap().push(format!("{filter:?}"));
        let from: usize = page.cursor.as_deref().map_or(0, |cursor| cursor.parse().unwrap());
        if *self.broken_at.lock().unwrap() == Some(from) {
            return Err(away());
        }
        let all = self.messages.lock().unwrap();
        let items: Vec<Exchanged> = all[from..]
            .iter()
            .take(page.limit)
            .map(|placed| Exchanged { placed: placed.clone(), contact_name: Some("=Mei".to_owned()) })
            .collect();
        let to = from + items.len();
        Ok(Page { items, next: (to < all.len()).then(|| to.to_string()) })
    }

    async fn message(&self, id: Uuid) -> Result<Option<Placed>, Error> {
        Ok(self.messages.lock().unwrap().iter().find(|placed| placed.message.id == id).cloned())
    }

    async fn placed(&self, ids: &[Uuid]) -> Result<Vec<Placed>, Error> {
        let all = self.messages.lock().unwrap();
        Ok(all.iter().filter(|placed| ids.contains(&placed.message.id)).cloned().collect())
    }

    async fn has_message(&self, _: &str, _: &ChatId, _: &str) -> Result<bool, Error> {
        Ok(false)
    }

    async fn history(&self, _: Uuid, _: i64, _: usize) -> Result<Vec<Message>, Error> {
        Ok(Vec::new())
    }

    async fn turns(&self, _: Uuid, _: &PageOf) -> Result<Page<Turn>, Error> {
        Ok(Page { items: Vec::new(), next: None })
    }

    async fn turn(&self, id: Uuid) -> Result<Option<(Uuid, String, Turn)>, Error> {
        let all = self.turns.lock().unwrap();
        let found = all.iter().find(|(_, turn)| turn.id == id).cloned();
        Ok(found.map(|(conversation, turn)| (conversation, "default".to_owned(), turn)))
    }

    async fn follow_ups(&self, _: &FollowUpFilter, _: &PageOf) -> Result<Page<(Uuid, FollowUp)>, Error> {
        Ok(Page { items: Vec::new(), next: None })
    }

    async fn drafts(&self, conversation: Uuid, page: &PageOf) -> Result<Page<Draft>, Error> {
        self.look()?;
        if page.cursor.as_deref() == Some("nonsense") {
            return Err(Error::NotACursor);
        }
        let all = self.drafts.lock().unwrap();
        let mine = all.iter().filter(|(of, _)| *of == conversation);
        Ok(Page { items: mine.map(|(_, draft)| draft.clone()).collect(), next: None })
    }

    async fn draft(&self, id: Uuid) -> Result<Option<(Uuid, Draft)>, Error> {
        self.look()?;
        Ok(self.drafts.lock().unwrap().iter().find(|(_, draft)| draft.id == id).cloned())
    }

    async fn letters(&self, _: &LetterFilter, _: &PageOf) -> Result<Page<DeadLetter>, Error> {
        Ok(Page { items: self.letters.lock().unwrap().clone(), next: None })
    }

    async fn letter(&self, id: Uuid) -> Result<Option<DeadLetter>, Error> {
        Ok(self.letters.lock().unwrap().iter().find(|letter| letter.id == id).cloned())
    }

    async fn beside(&self, ids: &[Uuid]) -> Result<Vec<(Uuid, Message)>, Error> {
        let all = self.messages.lock().unwrap();
        let of: Vec<Uuid> =
            all.iter().filter(|it| ids.contains(&it.message.id)).map(|it| it.conversation).collect();
        let mut beside: Vec<_> = all
            .iter()
            .filter(|it| of.contains(&it.conversation))
            .map(|it| (it.conversation, it.message.clone()))
            .collect();
        beside.sort_by_key(|(_, message)| std::cmp::Reverse(message.seq));
        Ok(beside)
    }

    async fn events(&self, filter: &EventFilter, _: &PageOf) -> Result<Page<Recorded>, Error> {
        self.asked.lock().unwrap().push(format!("{filter:?}"));
        Ok(Page { items: self.recorded(0), next: None })
    }

    async fn leases(&self) -> Result<Vec<(Uuid, Lease)>, Error> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl EventFeed for Shelf {
    async fn tail(&self, after: Option<&str>, limit: usize) -> Result<Tail, Error> {
        self.look()?;
        if after.is_some() && self.unreadable_after.lock().unwrap().take_if(|id| after == Some(id)).is_some()
        {
            return Err(away());
        }
        let number = |id: &str| id.strip_prefix('e').and_then(|digits| digits.parse::<usize>().ok());
        let from = match after {
            None => self.events.lock().unwrap().len(),
            Some(id) => number(id).ok_or_else(|| Error::Refused("no id of ours".into()))?,
        };
        if from < *self.forgotten.lock().unwrap() {
            return Ok(Tail::Resync(self.newest_event().await?));
        }
        let mut events = self.recorded(from);
        events.truncate(limit);
        Ok(Tail::Events(events))
    }

    async fn newest_event(&self) -> Result<String, Error> {
        self.look()?;
        Ok(format!("e{}", self.events.lock().unwrap().len()))
    }

    async fn held_back(&self) -> Result<Option<HeldBack>, Error> {
        Ok(self.held_back.lock().unwrap().clone())
    }
}

#[async_trait]
impl Statistics for Shelf {
    async fn used(&self, _: Uuid) -> Result<Vec<Usage>, Error> {
        Ok(Vec::new())
    }

    async fn proactive(&self, _: &str, _: Time, _: Time) -> Result<i64, Error> {
        Ok(0)
    }

    async fn buckets(&self, _: Time, _: Time, _: i64, _: Option<&[String]>) -> Result<Vec<Bucket>, Error> {
        Ok(Vec::new())
    }

    async fn depths(&self, _: Option<&[String]>) -> Result<Depths, Error> {
        self.look()?;
        Ok(Depths::default())
    }

    async fn modes(&self, _: Option<&[String]>) -> Result<Vec<(String, i64)>, Error> {
        match self.is_slow.load(Ordering::SeqCst) {
            true => Err(Error::Unavailable("it took too long".into())),
            false => Ok(vec![("AI".to_owned(), 2), ("HUMAN".to_owned(), 1)]),
        }
    }
}
