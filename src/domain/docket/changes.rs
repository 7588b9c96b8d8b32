//! What a store gets back: what a step changed, when somebody must look again, and what stays open.

use uuid::Uuid;

use super::{
    ChannelStanding, Docket, Erasure, Loaded, MessageProgress, Parked, Remembered, TurnProgress, Typing,
    progress,
};
use crate::domain::{
    conversation::Conversation,
    draft::Draft,
    event::Event,
    label::{self, Label},
    message::Message,
    time::Time,
    turn::{DeadLetter, FollowUp, LetterState, Turn},
};

/// Messages that stay with the open business though their fate is decided.
const LATELY: i64 = 40;

/// What a step changed, for the store to save.
#[derive(Debug, Clone)]
pub struct Changes {
    /// The moment of the step.
    pub now: Time,
    /// The facts as they are now.
    pub conversation: Conversation,
    /// They differ from what was loaded (clocks included).
    pub is_changed: bool,
    /// When somebody must look again.
    pub clocks: Clocks,
    /// A part that our side would be typing now.
    pub typing: Option<Typing>,
    /// Messages to insert, by sequence number.
    pub new_messages: Vec<Message>,
    /// Messages to overwrite.
    pub messages: Vec<Message>,
    /// Turns to insert, once those before them have been overwritten.
    pub new_turns: Vec<Turn>,
    /// Turns to overwrite.
    pub turns: Vec<Turn>,
    /// Follow-ups to insert or overwrite, in this order: what ends before what begins.
    pub follow_ups: Vec<FollowUp>,
    /// Dead letters to insert or overwrite.
    pub letters: Vec<DeadLetter>,
    /// Drafts to insert or overwrite.
    pub drafts: Vec<Draft>,
    /// Reports to keep.
    pub parked: Vec<Parked>,
    /// Reports to forget.
    pub unparked: Vec<Uuid>,
    /// The channel's standing, if it was locked.
    pub channel: Option<ChannelStanding>,
    /// Labels put on.
    pub labelled: Vec<Uuid>,
    /// Labels taken off.
    pub unlabelled: Vec<Uuid>,
    /// An idempotency key to keep.
    pub remembered: Option<Remembered>,
    /// The conversation is closed for good.
    pub erasure: Option<Erasure>,
    /// It continues in that one from now on.
    pub merged_into: Option<Uuid>,
    /// What happened.
    pub events: Vec<Event>,
    /// How far messages have come: those that were changed or are new, and those that a turn of this step is about.
    pub messages_progress: Vec<MessageProgress>,
    /// Turns that it changed, then one that it began.
    pub turns_progress: Vec<TurnProgress>,
    /// The open business as it is now: what a store would load for the next step.
    pub open: Loaded,
}

/// When somebody must look at the conversation again. Columns with indexes: sweeps and local queues go by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clocks {
    /// A turn may begin then: the burst is ripe, or the lease of the one who works on it ends.
    pub turn_at: Option<Time>,
    /// The message at the head may leave then.
    pub send_at: Option<Time>,
    /// Its rank among those of the channel: lower goes first.
    pub send_rank: i64,
    /// The follow-up is due then.
    pub follow_up_at: Option<Time>,
    /// Something else is due then: the way back to AI, an overdue answer, the lease of a send.
    pub tend_at: Option<Time>,
}

impl Docket {
    /// What is to be saved, and what stays open.
    pub fn close(mut self) -> Changes {
        let is_changed = self.is_changed();
        if is_changed {
            self.conversation.updated_at = self.now;
        }
        let typing = Typing::of(&self.messages, self.now);
        let (clocks, typing) = (self.clocks(), typing.filter(|_| self.conversation.erased_at.is_none()));
        let was_merged = self.before.conversation.memo.merged_into.is_some();
        let merged_into = self.conversation.memo.merged_into.filter(|_| !was_merged);
        let mut open = self.open_business();
        let turns_progress = progress::of_turns(&self.turns, &self.dirty);
        let messages_progress = progress::of_messages(&self, &turns_progress);
        let dirty = self.dirty;
        let ids = |labels: Vec<Label>| labels.iter().map(|label| label.id).collect();
        let complete_after = open.complete_after;
        let stays = |message: &Message| message.seq > complete_after || message.is_open();
        // What stays is kept: no room for more than there is.
        open.messages.reserve_exact(self.messages.iter().filter(|message| stays(message)).count());
        let mut new_messages = Vec::with_capacity(dirty.new_messages.len());
        let mut messages = Vec::with_capacity(dirty.messages.len());
        for message in self.messages {
            let stays = stays(&message);
            if dirty.new_messages.contains(&message.id) {
                new_messages.push(message.clone());
            } else if dirty.messages.contains_key(&message.id) {
                messages.push(message.clone());
            }
            if stays {
                open.messages.push(message);
            }
        }
        let (new_turns, turns) = self
            .turns
            .into_iter()
            .filter(|turn| dirty.new_turns.contains(&turn.id) || dirty.turns.contains_key(&turn.id))
            .partition(|turn| dirty.new_turns.contains(&turn.id));
        Changes {
            now: self.now,
            is_changed,
            clocks,
            typing,
            conversation: self.conversation,
            new_messages,
            messages,
            new_turns,
            turns,
            follow_ups: dirty.follow_ups,
            letters: self.letters.into_iter().filter(|letter| dirty.letters.contains(&letter.id)).collect(),
            drafts: self.drafts.into_iter().filter(|draft| dirty.drafts.contains(&draft.id)).collect(),
            parked: dirty.parked,
            unparked: dirty.unparked,
            channel: self.channel,
            labelled: ids(label::beyond(&self.labels, &self.before.labels)),
            unlabelled: ids(label::beyond(&self.before.labels, &self.labels)),
            remembered: self.remembered.filter(|_| dirty.remembered),
            erasure: dirty.erasure,
            merged_into,
            events: dirty.events,
            messages_progress,
            turns_progress,
            open,
        }
    }

    /// What a store would load once this is saved, but for the messages.
    fn open_business(&self) -> Loaded {
        let held = self.conversation.lease.as_ref().map(|lease| lease.turn);
        let is_open = |letter: &&DeadLetter| letter.state == LetterState::Open;
        Loaded {
            complete_after: self.complete_after.max(self.conversation.seq - LATELY),
            follow_up: self.follow_up.clone(),
            turns: self.turns.iter().filter(|turn| held == Some(turn.id)).cloned().collect(),
            letters: self.letters.iter().filter(is_open).cloned().collect(),
            drafts: self.fresh_draft().cloned().into_iter().collect(),
            parked: self.parked.clone(),
            ..Loaded::of(self.conversation.clone())
        }
    }
}
