//! A conversation with all of its open business, as a store lends it out while its row is locked.
//!
//! In: the facts, messages that wait or are owed, the pending follow-up, the running turn. A rule changes it and
//! writes events; the store then saves what changed, in the same transaction. Out: [`Changes`].

mod loaded;

mod changes;

mod entry;

mod side_records;

mod head;

mod drafts;

mod erasure;

mod progress;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use changes::{Changes, Clocks};
pub use entry::Entry;
pub use erasure::Erasure;
pub use head::Typing;
pub use loaded::Loaded;
pub use progress::{MessageProgress, MessageState, TurnProgress};
pub use side_records::{ChannelStanding, Parked, Remembered, Report};

use uuid::Uuid;

use super::{
    conversation::Conversation,
    draft::Draft,
    event::{Event, EventType},
    label::Label,
    message::{Author, Delivery, DeliveryState, Inbound, Message},
    time::Time,
    turn::{DeadLetter, FollowUp, FollowUpState, Turn, TurnState},
};

/// Most reports that wait in one conversation: changes to messages from before our time never find theirs.
const PARKED_MAX: usize = 200;

/// A conversation and its open business.
#[derive(Debug, Clone)]
pub struct Docket {
    /// The moment at which the row was locked, by the clock of the store.
    pub now: Time,
    /// The facts.
    pub conversation: Conversation,
    /// The channel's standing, locked too; there if the step asked for it.
    pub channel: Option<ChannelStanding>,
    /// A step held something back because of how many sends are under way: they must have been counted.
    pub found_full: bool,
    /// What it is labelled with; there if the step asked for it.
    pub labels: Vec<Label>,
    /// What an earlier request with the same idempotency key made; there if the step asked for it.
    pub remembered: Option<Remembered>,
    messages: Vec<Message>,
    complete_after: i64,
    follow_up: Option<FollowUp>,
    turns: Vec<Turn>,
    letters: Vec<DeadLetter>,
    drafts: Vec<Draft>,
    parked: Vec<Parked>,
    before: Before,
    dirty: Dirty,
}

/// What was loaded of what a rule changes in place.
#[derive(Debug, Clone)]
struct Before {
    conversation: Conversation,
    channel: Option<ChannelStanding>,
    labels: Vec<Label>,
    is_new: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Dirty {
    /// Each with how it stood before.
    messages: BTreeMap<Uuid, MessageState>,
    new_messages: BTreeSet<Uuid>,
    /// The same.
    turns: BTreeMap<Uuid, TurnState>,
    new_turns: BTreeSet<Uuid>,
    letters: BTreeSet<Uuid>,
    drafts: BTreeSet<Uuid>,
    follow_ups: Vec<FollowUp>,
    parked: Vec<Parked>,
    unparked: Vec<Uuid>,
    remembered: bool,
    erasure: Option<Erasure>,
    events: Vec<Event>,
}

impl Docket {
    /// Opens what a store has loaded.
    pub fn open(loaded: Loaded, now: Time) -> Self {
        let before = Before {
            conversation: loaded.conversation.clone(),
            channel: loaded.channel.clone(),
            labels: loaded.labels.clone(),
            is_new: loaded.is_new,
        };
        let mut docket = Self {
            now,
            conversation: loaded.conversation,
            channel: loaded.channel,
            found_full: false,
            labels: loaded.labels,
            remembered: loaded.remembered,
            messages: loaded.messages,
            complete_after: loaded.complete_after,
            follow_up: loaded.follow_up,
            turns: loaded.turns,
            letters: loaded.letters,
            drafts: loaded.drafts,
            parked: loaded.parked,
            before,
            dirty: Dirty::default(),
        };
        if docket.before.is_new {
            docket.record(
                Entry::of(EventType::ConversationCreated)
                    .with("mode", docket.conversation.mode.mode.as_str())
                    .with("reason", docket.conversation.mode.reason.as_str()),
            );
        }
        docket
    }

    /// Whether every message behind that one is here.
    pub const fn knows_all_after(&self, seq: i64) -> bool {
        self.complete_after <= seq
    }

    /// Open messages and those asked for, by sequence number.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The ways of those that we send, in the same order.
    pub fn deliveries(&self) -> impl Iterator<Item = &Delivery> {
        self.messages.iter().filter_map(|message| message.delivery.as_ref())
    }

    /// Whether a part of that reply may still leave, or is leaving. What may is open business, so all of it is there.
    pub fn is_owed(&self, reply: Uuid) -> bool {
        self.deliveries().any(|delivery| {
            delivery.reply == reply
                && matches!(delivery.state, DeliveryState::Queued | DeliveryState::Sending)
        })
    }

    /// The newest of them that a model reads as what was said, oldest first; None if there may be more in the store.
    pub fn words(&self, limit: usize) -> Option<Vec<Message>> {
        let said = self.messages.iter().rev();
        let known = said.take_while(|message| message.seq > self.complete_after).filter(|it| it.is_words());
        let mut words: Vec<Message> = known.take(limit).cloned().collect();
        words.reverse();
        (words.len() == limit || self.complete_after == 0).then_some(words)
    }

    /// The message with that id, if it is loaded.
    pub fn message(&self, id: Uuid) -> Option<&Message> {
        self.messages.iter().find(|message| message.id == id)
    }

    /// How that message of ours is delivered.
    pub fn delivery(&self, id: Uuid) -> Option<&Delivery> {
        self.message(id)?.delivery.as_ref()
    }

    /// One of them, to change.
    pub fn edit(&mut self, id: Uuid) -> Option<&mut Message> {
        let message = self.messages.iter_mut().find(|message| message.id == id)?;
        self.dirty.messages.entry(id).or_insert_with(|| MessageState::of(message));
        Some(message)
    }

    /// The way of one that we send, to change.
    pub fn edit_delivery(&mut self, id: Uuid) -> Option<&mut Delivery> {
        self.edit(id)?.delivery.as_mut()
    }

    /// The fate of one that the contact wrote, to change.
    pub fn edit_inbound(&mut self, id: Uuid) -> Option<&mut Inbound> {
        self.edit(id)?.inbound.as_mut()
    }

    /// The ids of those that match: for changing them one by one.
    pub fn ids(&self, wanted: impl Fn(&Message) -> bool) -> Vec<Uuid> {
        self.messages.iter().filter(|message| wanted(message)).map(|message| message.id).collect()
    }

    /// A new message at the end; gives it its number, its time and its place. The id is the caller's.
    pub fn push(&mut self, mut message: Message) -> Uuid {
        self.conversation.seq += 1;
        message.seq = self.conversation.seq;
        message.at = self.now;
        self.conversation.last_message_at = Some(self.now);
        let id = message.id;
        self.dirty.new_messages.insert(id);
        self.messages.push(message);
        id
    }

    /// The pending follow-up.
    pub fn follow_up(&self) -> Option<&FollowUp> {
        self.follow_up.as_ref()
    }

    /// Changes the pending follow-up; one that is pending no more leaves the docket.
    pub fn change_follow_up(&mut self, change: impl FnOnce(&mut FollowUp)) -> Option<FollowUp> {
        let mut follow_up = self.follow_up.take()?;
        change(&mut follow_up);
        self.keep_follow_up(follow_up.clone());
        Some(follow_up)
    }

    /// Puts a follow-up in, pending or ended. The pending one before it must have ended.
    pub fn keep_follow_up(&mut self, follow_up: FollowUp) {
        debug_assert!(self.follow_up.is_none(), "at most one follow-up is pending");
        self.dirty.follow_ups.retain(|other| other.id != follow_up.id);
        self.dirty.follow_ups.push(follow_up.clone());
        if follow_up.state == FollowUpState::Pending {
            self.follow_up = Some(follow_up);
        }
    }

    /// A turn: the one that holds the lease, one begun here, or one asked for.
    pub fn turn(&self, id: Uuid) -> Option<&Turn> {
        self.turns.iter().find(|turn| turn.id == id)
    }

    /// The one that holds the lease.
    pub fn running_turn(&self) -> Option<&Turn> {
        self.turn(self.conversation.lease.as_ref()?.turn)
    }

    /// One of them, to change.
    pub fn edit_turn(&mut self, id: Uuid) -> Option<&mut Turn> {
        let turn = self.turns.iter_mut().find(|turn| turn.id == id)?;
        self.dirty.turns.entry(id).or_insert(turn.state);
        Some(turn)
    }

    /// A new turn.
    pub fn begin_turn(&mut self, turn: Turn) {
        self.dirty.new_turns.insert(turn.id);
        self.turns.push(turn);
    }

    /// Dead letters of the conversation: the open ones, and the one asked for.
    pub fn letters(&self) -> &[DeadLetter] {
        &self.letters
    }

    /// Puts in a dead letter, or overwrites it by its id.
    pub fn keep_letter(&mut self, letter: DeadLetter) {
        self.dirty.letters.insert(letter.id);
        self.letters.retain(|other| other.id != letter.id);
        self.letters.push(letter);
    }

    /// Reports that wait to be told what they are about.
    pub fn parked(&self) -> &[Parked] {
        &self.parked
    }

    /// Keeps a report for later. Of too many the oldest goes.
    pub fn park(&mut self, provider_message_id: &str, report: Report) {
        if let Some(oldest) = self.parked.first().filter(|_| self.parked.len() >= PARKED_MAX).map(|it| it.id)
        {
            self.unpark(|parked| parked.id == oldest);
        }
        let parked = Parked {
            id: Uuid::now_v7(),
            provider_message_id: provider_message_id.to_owned(),
            report,
            at: self.now,
        };
        self.dirty.parked.push(parked.clone());
        self.parked.push(parked);
    }

    /// Takes the parked reports that match out of the docket, in the order in which they came.
    pub fn unpark(&mut self, wanted: impl Fn(&Parked) -> bool) -> Vec<Parked> {
        let (out, rest): (Vec<_>, Vec<_>) = self.parked.drain(..).partition(|parked| wanted(parked));
        self.parked = rest;
        self.dirty.parked.retain(|parked| !out.iter().any(|taken| taken.id == parked.id));
        self.dirty.unparked.extend(out.iter().map(|parked| parked.id));
        out
    }

    /// Remembers what an idempotency key stands for.
    pub fn remember(&mut self, remembered: Remembered) {
        self.remembered = Some(remembered);
        self.dirty.remembered = true;
    }

    /// Writes down what happened.
    pub fn record(&mut self, entry: Entry) {
        self.conversation.event_seq += 1;
        let mut event = entry.outside(&self.conversation.channel, self.now);
        event.conversation = Some(self.conversation.id);
        event.conv_seq = Some(self.conversation.event_seq);
        event.mode_version = Some(self.conversation.mode.version);
        // Of what a turn has written it is known.
        let written = event.message.and_then(|id| self.message(id)).filter(|it| it.author != Author::Contact);
        event.turn = event.turn.or_else(|| written.and_then(|message| message.turn));
        self.dirty.events.push(event);
    }

    /// Events written so far in this docket.
    pub fn events(&self) -> &[Event] {
        &self.dirty.events
    }

    /// Whether the conversation begins now.
    pub const fn is_new(&self) -> bool {
        self.before.is_new
    }

    /// Whether anything was written: events or rows.
    pub fn is_changed(&self) -> bool {
        self.conversation != self.before.conversation
            || self.before.is_new
            || self.channel != self.before.channel
            || self.labels != self.before.labels
            || self.dirty != Dirty::default()
    }

    /// When somebody must look again, from everything the docket holds.
    pub fn clocks(&self) -> Clocks {
        let memo = &self.conversation.memo;
        if self.conversation.erased_at.is_some() {
            return Clocks::default();
        }
        if memo.merged_into.is_some() {
            return Clocks { tend_at: memo.is_untold.then_some(self.now), ..Clocks::default() };
        }
        let head = head::head(&self.messages);
        // A contact who waits for the assistant goes before a person who waits for a suggestion.
        let ripe_at = memo.ripe_at.or_else(|| memo.draft_wish.as_ref().map(|wish| wish.ripe_at));
        Clocks {
            turn_at: match &self.conversation.lease {
                Some(lease) if lease.is_live(self.now) => Some(lease.until),
                Some(lease) => Some(lease.until.min(self.now)),
                None => ripe_at.map(Time),
            },
            send_at: head.map(|delivery| delivery.due_at),
            send_rank: head.map_or(0, |delivery| delivery.lane.rank(delivery.due_at)),
            follow_up_at: self
                .follow_up
                .as_ref()
                .map(|it| it.due_at.max(Time(memo.follow_up_retry_at.unwrap_or(i64::MIN)))),
            tend_at: self.tend_at(),
        }
    }

    fn tend_at(&self) -> Option<Time> {
        let sending = self.deliveries().filter(|delivery| delivery.state == DeliveryState::Sending);
        let leases = sending.filter_map(|delivery| {
            let (attempt, now) = (delivery.attempt?, self.now);
            Some(if attempt.is_over(now) { attempt.lease_until.min(now) } else { attempt.lease_until })
        });
        leases
            .chain(self.messages.iter().filter_map(Message::echo_awaited_until))
            .chain(self.conversation.mode.until)
            .chain(self.conversation.snoozed_until)
            .chain(self.conversation.memo.overdue_at.map(Time))
            .chain(self.conversation.memo.other_id_at.map(Time))
            .chain(self.conversation.memo.same_person.filter(|_| self.is_at_rest()).map(|_| self.now))
            .chain(self.conversation.memo.is_untold.then_some(self.now))
            .chain(self.parked.iter().filter_map(Parked::original_awaited_until))
            .min()
    }

    /// Nothing that the contact wrote waits, and nothing is owed them or may be on its way.
    pub fn is_at_rest(&self) -> bool {
        let waits_for_original = |parked: &Parked| parked.original_awaited_until().is_some();
        !self.messages.iter().any(Message::is_open) && !self.parked.iter().any(waits_for_original)
    }
}
