//! Step: what a commit sets in motion here, as the observer of the ledger.
//!
//! In: every commit of this instance, and what other instances report. Out: local queues updated, running turns
//! judged, the journal's log lines, the feed and those who wait for a conversation woken, onlookers and other instances notified.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Notify, broadcast, mpsc, watch};
use uuid::Uuid;

use super::{onlookers::Onlookers, overhead::Overhead, queue::Queue, running::Running};
use crate::{
    domain::{
        chat::ChatId,
        docket::Clocks,
        event::{Event, EventType},
        pacing,
        time::Time,
    },
    flow::{
        journal,
        ledger::{Committed, Due, Observer, Standing, Work},
    },
};

/// Commits that a slow waiter may miss before it looks by itself.
const CHANGED_BACKLOG: usize = 1_024;

/// The first message owed in a conversation, as far as the order between conversations goes by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The channel it leaves by.
    pub channel: String,
    /// Lower goes first.
    pub rank: i64,
    /// Not before then.
    pub at: Option<Time>,
}

impl Head {
    fn of(channel: &str, clocks: Clocks) -> Self {
        Self { channel: channel.to_owned(), rank: clocks.send_rank, at: clocks.send_at }
    }
}

/// Someone would be typing now: the words are owed, and leave only after this long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShowTyping {
    /// The channel over which typing is shown.
    pub channel: String,
    /// The chat to which it is shown.
    pub chat: ChatId,
    /// How long it is shown.
    pub ms: i64,
}

/// What commits set in motion.
pub struct Dispatch {
    /// Conversations in which a turn may begin.
    pub turns: Queue,
    /// Conversations in which a message may leave.
    pub sends: Queue,
    /// Conversations whose follow-up is due.
    pub follow_ups: Queue,
    /// Conversations in which something else is due.
    pub tends: Queue,
    /// Turns that run here.
    pub running: Running,
    /// Who watches a conversation, and what they see.
    pub onlookers: Arc<Onlookers>,
    /// What replies cost besides the model.
    pub overhead: Overhead,
    /// Rung after each commit that wrote events: the feed reads on.
    pub feed: Arc<Notify>,
    /// The same, for the step that notifies webhook endpoints.
    pub events: watch::Sender<()>,
    /// Receives words that someone would be typing now.
    typing: Option<mpsc::Sender<ShowTyping>>,
    heads: Mutex<HashMap<Uuid, Head>>,
    crowded: Mutex<HashSet<String>>,
    changed: broadcast::Sender<Uuid>,
    to_others: Option<mpsc::Sender<Standing>>,
}

impl Default for Dispatch {
    fn default() -> Self {
        Self {
            turns: Queue::default(),
            sends: Queue::default(),
            follow_ups: Queue::default(),
            tends: Queue::default(),
            running: Running::default(),
            onlookers: Arc::default(),
            overhead: Overhead::default(),
            feed: Arc::default(),
            events: watch::Sender::new(()),
            typing: None,
            heads: Mutex::default(),
            crowded: Mutex::default(),
            changed: broadcast::channel(CHANGED_BACKLOG).0,
            to_others: None,
        }
    }
}

impl Dispatch {
    /// With the way to other instances, if there are any, and to the task that shows that someone is typing.
    pub fn telling(others: Option<mpsc::Sender<Standing>>, typing: mpsc::Sender<ShowTyping>) -> Self {
        Self { to_others: others, typing: Some(typing), ..Self::default() }
    }

    /// The queue of that kind of work.
    pub const fn queue(&self, work: Work) -> &Queue {
        match work {
            Work::Turn => &self.turns,
            Work::Send => &self.sends,
            Work::FollowUp => &self.follow_ups,
            Work::Tend => &self.tends,
        }
    }

    /// Conversations that change here, as they do.
    pub fn changes(&self) -> broadcast::Receiver<Uuid> {
        self.changed.subscribe()
    }

    /// The head of a conversation that waits for its send.
    pub fn head(&self, conversation: Uuid) -> Option<Head> {
        self.heads().get(&conversation).cloned()
    }

    /// There was nothing to send: somebody else has sent it. One of another rank has come since, and stays.
    pub fn forget_head(&self, conversation: Uuid, rank: i64) {
        let mut heads = self.heads();
        if heads.get(&conversation).is_some_and(|head| head.rank == rank) {
            heads.remove(&conversation);
        }
    }

    /// Whether conversations wait here for their turn on that channel: then nobody goes before them.
    pub fn is_crowded(&self, channel: &str) -> bool {
        self.crowded.lock().unwrap_or_else(PoisonError::into_inner).contains(channel)
    }

    /// Whether any wait now.
    pub fn set_crowded(&self, channel: &str, is_crowded: bool) {
        let mut crowded = self.crowded.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_crowded {
            crowded.remove(channel);
        } else if !crowded.contains(channel) {
            crowded.insert(channel.to_owned());
        }
    }

    /// What a sweep has found: looked at now, unless it is about to be.
    pub fn remind(&self, work: Work, due: &Due) {
        if work == Work::Send {
            let head = Head::of(&due.channel, due.clocks);
            self.heads().insert(due.conversation, head);
        }
        self.queue(work).remind(due.conversation);
    }

    fn heads(&self) -> MutexGuard<'_, HashMap<Uuid, Head>> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update_queues(&self, commit: &Committed) {
        let conversation = commit.standing.conversation;
        let from_now = |at: Option<Time>| at.map(|at| at.since(commit.at).max(0));
        if commit.clocks.send_at.is_some() {
            let head = Head::of(&commit.channel, commit.clocks);
            self.heads().insert(conversation, head);
        } else {
            self.heads().remove(&conversation);
        }
        self.turns.set(conversation, from_now(commit.clocks.turn_at));
        self.sends.set(conversation, from_now(commit.clocks.send_at));
        self.follow_ups.set(conversation, from_now(commit.clocks.follow_up_at));
        self.tends.set(conversation, from_now(commit.clocks.tend_at));
    }

    /// New words that wait out the time of typing are shown as being typed. Best effort, and nobody's words wait for it: at the
    /// gateway typing stands in one queue with all messages of the account, where no takeover reaches them.
    fn show_typing(&self, commit: &Committed) {
        let is_new = |event: &Event| matches!(event.kind, EventType::MessageQueued | EventType::MessageSent);
        let (Some(typing), Some(send_at)) = (&self.typing, commit.clocks.send_at) else { return };
        let ms = send_at.since(commit.at);
        if pacing::shows_typing(ms) && commit.events.iter().any(is_new) && self.leaves_alone(commit, send_at)
        {
            let word = ShowTyping { channel: commit.channel.clone(), chat: commit.chat.clone(), ms };
            if typing.try_send(word).is_err() {
                tracing::debug!("nobody was shown typing this time");
            }
        }
    }

    /// Whether nothing of another conversation leaves by that channel before then, as far as is known here.
    fn leaves_alone(&self, commit: &Committed, at: Time) -> bool {
        let is_earlier = |head: &Head| head.channel == commit.channel && head.at.is_some_and(|due| due < at);
        !self.heads().iter().any(|(id, head)| *id != commit.standing.conversation && is_earlier(head))
    }

    /// A withdrawn permit concerns a turn that may run elsewhere. Best effort: they look by themselves every second.
    fn tell_others(&self, commit: &Committed) {
        let withdraws = commit.events.iter().any(|event| {
            matches!(
                event.kind,
                EventType::ModeChanged | EventType::ModeChangeDuringGeneration | EventType::TurnSuperseded
            )
        });
        if !(withdraws || commit.is_erased) {
            return;
        }
        if let Some(others) = &self.to_others
            && others.try_send(commit.standing).is_err()
        {
            tracing::debug!(conversation = %commit.standing.conversation, "other instances were not told");
        }
    }
}

impl Dispatch {
    fn wake_feed(&self) {
        self.feed.notify_one();
        self.events.send_replace(());
    }
}

impl Observer for Dispatch {
    fn committed(&self, commits: &[Committed]) {
        let mut wrote_events = false;
        for commit in commits {
            self.running.judge(&commit.standing);
            self.onlookers.committed(commit);
            self.update_queues(commit);
            self.tell_others(commit);
            self.show_typing(commit);
            wrote_events |= !commit.events.is_empty();
            tell_journal(&commit.events);
            // Nobody may be waiting: that is not a failure.
            let _ = self.changed.send(commit.standing.conversation);
        }
        if wrote_events {
            self.wake_feed();
        }
    }

    fn kept(&self, events: &[Event]) {
        tell_journal(events);
        self.wake_feed();
    }
}

fn tell_journal(events: &[Event]) {
    for event in events {
        journal::log(event);
        journal::count(event);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::domain::{docket::Entry, mode::Mode};

    /// Words that leave then, in a conversation of their own.
    fn queued(channel: &str, send_at: i64) -> Committed {
        Committed {
            at: Time(0),
            asked_at: Instant::now(),
            channel: channel.to_owned(),
            chat: ChatId::parse("6580000001@c.us").expect("a chat"),
            standing: Standing {
                conversation: Uuid::now_v7(),
                mode: Mode::Ai,
                version: 1,
                fence: 1,
                turn: None,
                contact_seq: 1,
            },
            clocks: Clocks { send_at: Some(Time(send_at)), ..Clocks::default() },
            messages: Vec::new(),
            turns: Vec::new(),
            typing: None,
            is_erased: false,
            events: vec![Entry::of(EventType::MessageQueued).outside(channel, Time(0))],
        }
    }

    #[test]
    fn typing_is_shown_where_nobody_elses_words_would_wait_for_it() {
        let (typing, mut shown) = mpsc::channel(8);
        let dispatch = Dispatch::telling(None, typing);
        dispatch.committed(&[queued("shop", 5_000)]);
        assert_eq!(shown.try_recv().expect("shown").ms, 5_000);
        dispatch.committed(&[queued("shop", 6_000)]);
        assert!(shown.try_recv().is_err(), "the first would leave while the second is typed");
        dispatch.committed(&[queued("shop", 4_000), queued("other", 6_000)]);
        assert_eq!(shown.try_recv().expect("shown").ms, 4_000);
        assert_eq!(shown.try_recv().expect("another account has another queue").ms, 6_000);
    }
}
