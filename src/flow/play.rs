//! A conversation in memory, for tests of the rules: what a store does around a step, without a store.

use std::sync::Arc;

use uuid::Uuid;

use super::{
    agenda::{self, Fired, NewFollowUp},
    conversations::{self, By, Switched},
    desk,
    generator::{Failure, FailureKind},
    inbox::{self, Admitted, Begun, Claim, Claimant},
    ledger::Need,
    outbox::{self, Settled},
    provider::Arrival,
    reconcile::{self, Copy, Matched},
    reply::{self, Answer, TurnEnd},
};
use crate::domain::{
    chat::ChatId,
    conversation::{Conversation, Opening},
    docket::{ChannelStanding, Clocks, Docket, Loaded},
    draft::{Draft, DraftState},
    event::{Event, EventType},
    message::{DeliveryState, Kind, Message},
    mode::{Mode, Reason},
    policy::Policy,
    time::Time,
    turn::{DeadLetter, FollowUp, Turn},
};

/// A conversation in memory and everything that was ever stored of it.
#[derive(Clone)]
pub(crate) struct Play {
    pub(crate) policy: Policy,
    pub(crate) now: Time,
    pub(crate) conversation: Conversation,
    pub(crate) messages: Vec<Message>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) follow_ups: Vec<FollowUp>,
    pub(crate) letters: Vec<DeadLetter>,
    pub(crate) drafts: Vec<Draft>,
    pub(crate) events: Vec<Event>,
    pub(crate) clocks: Clocks,
    pub(crate) channel: ChannelStanding,
    pub(crate) parked: Vec<crate::domain::docket::Parked>,
    is_new: bool,
    ids: u32,
}

impl Play {
    /// A new conversation in AI, by rules without delays.
    pub(crate) fn new() -> Self {
        let policy = Policy {
            burst_quiet_ms: 1_000,
            burst_max_ms: 10_000,
            typing_ms_per_char: 0,
            typing_jitter_ms: 0,
            typing_max_ms: 0,
            split_chars: 0,
            send_interval_ms: 0,
            prompt: Arc::from("You help."),
            ..Policy::default()
        };
        let now = Time(1_000_000);
        let chat = ChatId::parse("6580000001@c.us").expect("a chat id");
        let opening =
            Opening { mode: Mode::Ai, reason: Reason::Rollout, actor: "system".to_owned(), drafting: false };
        Self {
            policy,
            now,
            conversation: Conversation::begin("default", chat, &opening, now),
            messages: Vec::new(),
            turns: Vec::new(),
            follow_ups: Vec::new(),
            letters: Vec::new(),
            drafts: Vec::new(),
            events: Vec::new(),
            clocks: Clocks::default(),
            channel: ChannelStanding { state: String::new(), next_send_at: Time(0), in_flight: 0, sends: 0 },
            parked: Vec::new(),
            is_new: true,
            ids: 0,
        }
    }

    /// With other rules.
    pub(crate) fn by(change: impl FnOnce(&mut Policy)) -> Self {
        let mut play = Self::new();
        change(&mut play.policy);
        play
    }

    /// In HUMAN, where the assistant suggests.
    pub(crate) fn with_drafts() -> Self {
        let mut play = Self::new();
        play.conversation.drafting = true;
        play.switches(Mode::Human);
        play
    }

    /// Runs a step on everything that was ever stored, and saves what changed.
    pub(crate) fn step<T>(&mut self, step: impl FnOnce(&mut Docket, &Policy) -> T) -> T {
        let loaded = Loaded { complete_after: 0, ..self.load(|_| true, |_| true, |_| true) };
        self.run(loaded, step)
    }

    /// Runs a step as a store would, which loads what is open and what the step asked for, and nothing else.
    pub(crate) fn step_with<T>(&mut self, need: &Need, step: impl FnOnce(&mut Docket, &Policy) -> T) -> T {
        let newest_from = self.conversation.seq - i64::try_from(need.newest).unwrap_or(i64::MAX);
        let is_key = |key: &Option<String>| key.as_ref().is_some_and(|key| need.keys.contains(key));
        let holds_lease = self.conversation.lease.as_ref().map(|lease| lease.turn);
        let loaded = self.load(
            |message| {
                message.is_open()
                    || message.seq > newest_from
                    || need.messages.contains(&message.id)
                    || is_key(&message.key)
                    || is_key(&message.provider_message_id)
            },
            |turn| holds_lease == Some(turn.id) || need.turn == Some(turn.id),
            |draft| self.conversation.memo.draft == Some(draft.id) || need.draft == Some(draft.id),
        );
        let loaded = Loaded { complete_after: newest_from.max(0), ..loaded };
        self.run(loaded, step)
    }

    fn load(
        &self,
        message: impl Fn(&Message) -> bool,
        turn: impl Fn(&Turn) -> bool,
        draft: impl Fn(&Draft) -> bool,
    ) -> Loaded {
        let is_pending =
            |follow_up: &&FollowUp| follow_up.state == crate::domain::turn::FollowUpState::Pending;
        Loaded {
            conversation: self.conversation.clone(),
            is_new: self.is_new,
            messages: self.messages.iter().filter(|it| message(it)).cloned().collect(),
            complete_after: self.conversation.seq,
            follow_up: self.follow_ups.iter().find(is_pending).cloned(),
            turns: self.turns.iter().filter(|it| turn(it)).cloned().collect(),
            letters: self.letters.clone(),
            drafts: self.drafts.iter().filter(|it| draft(it)).cloned().collect(),
            parked: self.parked.clone(),
            channel: Some(self.channel.clone()),
            labels: Vec::new(),
            remembered: None,
        }
    }

    fn run<T>(&mut self, loaded: Loaded, step: impl FnOnce(&mut Docket, &Policy) -> T) -> T {
        let mut docket = Docket::open(loaded, self.now);
        let outcome = step(&mut docket, &self.policy);
        let changes = docket.close();
        self.is_new = false;
        self.conversation = changes.conversation;
        self.clocks = changes.clocks;
        changes.messages.iter().for_each(|message| self.is_the_same(message));
        put(&mut self.messages, changes.messages, |message| message.id);
        put(&mut self.messages, changes.new_messages, |message| message.id);
        put(&mut self.turns, changes.turns, |turn| turn.id);
        put(&mut self.turns, changes.new_turns, |turn| turn.id);
        put(&mut self.follow_ups, changes.follow_ups, |follow_up| follow_up.id);
        put(&mut self.letters, changes.letters, |letter| letter.id);
        put(&mut self.drafts, changes.drafts, |draft| draft.id);
        put(&mut self.parked, changes.parked, |parked| parked.id);
        self.parked.retain(|parked| !changes.unparked.contains(&parked.id));
        self.events.extend(changes.events);
        if let Some(channel) = changes.channel {
            self.channel = channel;
        }
        self.channel.in_flight = self.in_state(DeliveryState::Sending).len();
        outcome
    }

    /// Stores overwrite only what can have changed: no rule touches the rest.
    fn is_the_same(&self, message: &Message) {
        let before = self.message(message.id);
        let words =
            |it: &Message| (it.seq, it.author, it.origin, it.sender.clone(), it.quoted.clone(), it.at);
        assert_eq!(words(message), words(before));
        let sent = |it: &Message| {
            let it = it.delivery.as_ref()?;
            Some((it.part, it.parts, it.reply, it.typing_ms, it.idempotency_key.clone(), it.queued_at))
        };
        assert_eq!(sent(message), sent(before));
    }

    pub(crate) fn wait(&mut self, ms: i64) {
        self.now = self.now.plus_ms(ms);
    }

    /// The contact writes.
    pub(crate) fn says(&mut self, text: &str) -> Uuid {
        self.ids += 1;
        let arrival = self.arrival(&format!("IN{}", self.ids), text);
        match self.step(|docket, policy| inbox::admit(docket, policy, &arrival)) {
            Admitted::Stored(id) | Admitted::Duplicate(id) => id,
        }
    }

    /// As it comes from the provider.
    pub(crate) fn arrival(&self, id: &str, text: &str) -> Arrival {
        let mut arrival = Arrival::plain(&self.conversation.chat, id, text.to_owned(), self.now);
        arrival.kind = Kind::Text;
        arrival.fingerprint = format!("fingerprint of {id}");
        arrival
    }

    /// Someone tries to begin a turn.
    pub(crate) fn claim(&mut self) -> Claim {
        let claimant = Claimant { owner: "A".to_owned(), turn: Uuid::now_v7(), found_locked: false };
        self.step(|docket, policy| inbox::claim_ripe(docket, policy, &claimant))
    }

    /// Waits until the burst is ripe and begins.
    pub(crate) fn begins(&mut self) -> Begun {
        if let Some(at) = self.clocks.turn_at {
            self.now = self.now.max(at);
        }
        match self.claim() {
            Claim::Begun(begun) => *begun,
            other => panic!("no turn began: {other:?}"),
        }
    }

    /// The model has written this.
    pub(crate) fn writes(&mut self, begun: &Begun, text: &str) -> TurnEnd {
        let answer = Answer { text: text.to_owned(), ..Answer::default() };
        self.commits(begun, &answer)
    }

    pub(crate) fn commits(&mut self, begun: &Begun, answer: &Answer) -> TurnEnd {
        self.step(|docket, policy| reply::commit(docket, policy, begun, answer, 0.5))
    }

    /// The model fails.
    pub(crate) fn fails(&mut self, begun: &Begun) -> TurnEnd {
        self.fails_with(begun, FailureKind::Server, None)
    }

    /// The model failed so, and wants to be asked again so much later.
    pub(crate) fn fails_with(
        &mut self,
        begun: &Begun,
        kind: FailureKind,
        retry_after_ms: Option<i64>,
    ) -> TurnEnd {
        let failure = Failure { retry_after_ms, ..Failure::new(kind, "status 500") };
        self.step(|docket, policy| reply::fail(docket, policy, begun, &failure, reply::Cost::default(), 0.5))
    }

    /// The contact asks, the model answers.
    pub(crate) fn exchange(&mut self, question: &str, answer: &str) {
        self.says(question);
        let begun = self.begins();
        self.writes(&begun, answer);
        self.sends();
    }

    /// Someone tries to send.
    pub(crate) fn claims_send(&mut self) -> (Uuid, outbox::Claim) {
        let attempt = Uuid::now_v7();
        (attempt, self.step(|docket, policy| outbox::claim_due(docket, policy, attempt)))
    }

    /// What became of that attempt.
    pub(crate) fn settles(&mut self, attempt: Uuid, settled: &Settled) {
        self.step(|docket, policy| outbox::settle(docket, policy, attempt, settled, 0.5));
    }

    /// Everything that may leave does, and is accepted. Returns the texts.
    pub(crate) fn sends(&mut self) -> Vec<String> {
        let mut texts = Vec::new();
        loop {
            let (attempt, claim) = self.claims_send();
            match claim {
                outbox::Claim::Claimed(message) => {
                    texts.push(message.text.clone());
                    self.ids += 1;
                    let id = format!("OUT{}", self.ids);
                    self.settles(attempt, &Settled::Sent(id));
                }
                outbox::Claim::NotYet(at) => self.now = at,
                _ => return texts,
            }
        }
    }

    pub(crate) fn switches(&mut self, to: Mode) -> Switched {
        let reason = if to == Mode::Human { Reason::AgentButton } else { Reason::Released };
        self.step(|docket, policy| conversations::switch(docket, policy, to, By::of(reason, "agent:ana")))
    }

    /// A copy of a message of our side comes back.
    pub(crate) fn copy(&mut self, id: &str, text: &str, copy: Copy) -> Matched {
        let arrival = self.arrival(id, text);
        self.step(|docket, policy| reconcile::take_copy(docket, policy, &arrival, copy))
    }

    pub(crate) fn schedules(&mut self, text: &str, delay_ms: i64) -> bool {
        let new =
            NewFollowUp { delay_ms: Some(delay_ms), text: Some(text.to_owned()), ..NewFollowUp::default() };
        self.step(|docket, policy| desk::follow_ups::schedule(docket, policy, &new, "agent:ana")).is_ok()
    }

    pub(crate) fn fires(&mut self) -> Fired {
        let claimant = Claimant { owner: "A".to_owned(), turn: Uuid::now_v7(), found_locked: false };
        self.step(|docket, policy| agenda::fire(docket, policy, &claimant))
    }

    pub(crate) fn tends(&mut self) {
        self.step(|docket, policy| {
            conversations::pass_time(docket, policy);
            reconcile::expire_leases(docket, policy);
        });
    }

    pub(crate) fn message(&self, id: Uuid) -> &Message {
        self.messages.iter().find(|message| message.id == id).expect("the message is known")
    }

    pub(crate) fn in_state(&self, state: DeliveryState) -> Vec<&str> {
        self.messages
            .iter()
            .filter(|message| message.is(state))
            .map(|message| message.text.as_str())
            .collect()
    }

    pub(crate) fn happened(&self, kind: EventType) -> usize {
        self.events.iter().filter(|event| event.kind == kind).count()
    }

    /// The drafts, each by its words and where it stands.
    pub(crate) fn suggested(&self) -> Vec<(&str, DraftState)> {
        self.drafts.iter().map(|draft| (draft.text.as_str(), draft.state)).collect()
    }

    pub(crate) fn pending_follow_ups(&self) -> usize {
        let is_pending =
            |follow_up: &&FollowUp| follow_up.state == crate::domain::turn::FollowUpState::Pending;
        self.follow_ups.iter().filter(is_pending).count()
    }
}

fn put<T>(rows: &mut Vec<T>, changed: Vec<T>, id: impl Fn(&T) -> Uuid) {
    for row in changed {
        match rows.iter_mut().find(|other| id(other) == id(&row)) {
            Some(other) => *other = row,
            None => rows.push(row),
        }
    }
}
