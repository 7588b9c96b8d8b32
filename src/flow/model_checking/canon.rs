//! What makes two worlds the same: ids by the order in which they are met, moments by how far they lie ahead.

use std::{
    collections::HashMap,
    fmt::Write,
    hash::{DefaultHasher, Hash, Hasher},
};

use uuid::Uuid;

use super::world::World;
use crate::domain::{
    message::Message,
    time::Time,
    turn::{FollowUpState, TurnState},
};

struct Canon<'w> {
    world: &'w World,
    hasher: DefaultHasher,
    ids: HashMap<Uuid, usize>,
}

/// Equal for worlds that differ in nothing that any rule, act or promise looks at.
pub(super) fn fingerprint(world: &World) -> u64 {
    let mut canon = Canon { world, hasher: DefaultHasher::new(), ids: HashMap::new() };
    for message in &world.play.messages {
        canon.id(Some(message.id));
    }
    world.left.hash(&mut canon.hasher);
    canon.conversation();
    for message in &world.play.messages {
        canon.message(message);
    }
    canon.business();
    canon.around();
    canon.hasher.finish()
}

impl Canon<'_> {
    fn put(&mut self, value: impl Hash) {
        value.hash(&mut self.hasher);
    }

    fn id(&mut self, id: Option<Uuid>) {
        let count = self.ids.len();
        let place = id.map(|id| *self.ids.entry(id).or_insert(count));
        self.put(place);
    }

    /// How far ahead; what is past is past, however long.
    fn at(&mut self, at: Option<Time>) {
        self.put(at.map(|at| at.since(self.world.play.now).max(0)));
    }

    fn conversation(&mut self) {
        let conversation = &self.world.play.conversation;
        let memo = &conversation.memo;
        self.put((conversation.mode.mode.as_str(), conversation.mode.version, conversation.status.as_str()));
        self.put((conversation.seq, conversation.contact_seq, conversation.our_seq));
        self.put((conversation.waiting_since.is_some(), conversation.attention.map(|it| it.reason)));
        self.put(memo.called_for.as_deref());
        self.put((memo.restarts, memo.failures, memo.answer_now, memo.follow_ups_sent, memo.alive_seq));
        self.put(memo.is_sequence);
        self.put((memo.human_seq, memo.closed_seq));
        self.id(memo.reply);
        self.id(memo.amended);
        self.id(memo.told);
        for errand in &memo.errands {
            self.id(Some(errand.turn));
        }
        self.put((memo.burst_first_at.is_some(), memo.burst_last_at.is_some(), memo.overdue_at.is_some()));
        self.at(memo.ripe_at.map(Time));
        self.at(memo.retry_at.map(Time));
        self.at(memo.follow_up_retry_at.map(Time));
        let wish = memo.draft_wish.as_ref();
        self.id(wish.map(|wish| wish.id));
        self.put(wish.map(|wish| (wish.by.is_some(), wish.restarts, wish.failures)));
        self.at(wish.map(|wish| Time(wish.ripe_at)));
        self.id(conversation.lease.as_ref().map(|lease| lease.turn));
        self.at(conversation.lease.as_ref().map(|lease| lease.until));
    }

    fn message(&mut self, message: &Message) {
        self.put((message.seq, message.author, message.origin, message.kind, message.text.as_str()));
        self.put((message.provider_message_id.as_deref(), message.key.as_deref()));
        self.put(message.deleted_at.is_some());
        self.put(message.inbound.map(|it| (it.outcome, it.reason, it.starts_turn)));
        self.id(message.turn);
        let Some(delivery) = &message.delivery else { return };
        self.put((delivery.state, delivery.reason, delivery.attempts, delivery.part, delivery.parts));
        self.put((delivery.version, delivery.gate, delivery.unclear, delivery.left_at.is_some()));
        self.id(Some(delivery.reply));
        self.at(Some(delivery.due_at));
        self.id(delivery.attempt.map(|attempt| attempt.id));
        self.at(delivery.attempt.map(|attempt| attempt.lease_until));
    }

    fn business(&mut self) {
        let play = &self.world.play;
        for turn in &play.turns {
            // What a turn read counts as long as it runs, or a reply of it may leave.
            self.id(Some(turn.id));
            self.put((turn.state == TurnState::Generating, turn.last_seq, turn.is_final));
            let wish = play.conversation.memo.draft_wish.as_ref();
            self.put(wish.map(|wish| Time(wish.first_at) > turn.started_at));
        }
        for draft in &play.drafts {
            self.id(Some(draft.id));
            self.put((draft.state, draft.based_on_seq));
        }
        for follow_up in &play.follow_ups {
            if follow_up.state != FollowUpState::Pending && follow_up.message.is_none() {
                continue;
            }
            self.put((follow_up.state, follow_up.text.as_deref(), follow_up.created_by.as_str()));
            self.put(follow_up.attempts);
            self.id(follow_up.message);
            self.at(Some(follow_up.due_at));
        }
        for parked in &play.parked {
            self.put((parked.provider_message_id.as_str(), format!("{:?}", parked.report)));
        }
        self.put(play.letters.len());
    }

    fn around(&mut self) {
        let world = self.world;
        for begun in &world.turns {
            self.id(Some(begun.turn.id));
            self.id(begun.draft);
            self.put(begun.turn.fence - world.play.conversation.fence);
            self.put(begun.turn.mode_version);
        }
        for send in &world.sends {
            self.id(Some(send.attempt));
            self.id(Some(send.message.id));
            self.at(Some(send.claimed_at.plus_ms(super::super::outbox::BEGIN_WITHIN_MS)));
            self.put(send.posted.as_deref());
        }
        for accepted in &world.accepted {
            self.put((accepted.id.as_str(), accepted.echoed, accepted.reported));
            self.id(Some(accepted.message));
        }
        self.put((world.unsettled, world.settled));
        for turn in &world.told {
            self.id(Some(*turn));
        }
        for read in &world.read {
            // What counts is whether they still say what it has read.
            self.id(Some(read.turn));
            for (id, words) in &read.texts {
                self.put(world.play.message(*id).text == *words);
            }
        }
        for (id, accepted) in &world.retried {
            self.id(Some(*id));
            self.put(accepted);
        }
    }
}

/// How things stand, in one line.
pub(super) fn describe(world: &World) -> String {
    let play = &world.play;
    let mode = &play.conversation.mode;
    let mut line = format!("{}{} t+{}s", mode.mode, mode.version, (play.now.0 - 1_000_000) / 1_000);
    for message in &play.messages {
        let state = match (&message.inbound, &message.delivery) {
            (Some(inbound), _) => inbound.outcome.as_str(),
            (None, Some(delivery)) => delivery.state.as_str(),
            (None, None) => message.origin.as_str(),
        };
        let covered = if message.is_covered() { "*" } else { "" };
        let _ = write!(line, " | {} {:?} {state}{covered}", message.seq, message.text);
    }
    for (text, state) in play.suggested() {
        let _ = write!(line, " | draft {text:?} {state}");
    }
    if play.pending_follow_ups() > 0 {
        line.push_str(" | follow-up pending");
    }
    line
}
