//! One conversation and all that acts on it: the contact, people, two instances that may stand still, the provider.
//!
//! In: an act. Out: the world after it, which the promises are held against. Each act is one transaction of the rules,
//! one POST, or time that passes.

use uuid::Uuid;

use crate::{
    domain::{
        docket::Docket,
        message::{DeliveryState, Gate, Kind, Message, Origin, OutcomeReason},
        mode::Mode,
        policy::Policy,
        time::Time,
        turn::Purpose,
    },
    flow::{
        agenda::{self, Fired},
        conversations,
        desk::{Who, Words, fate, words},
        generator::{Failure, FailureKind},
        inbox::{self, Begun, Claim, Claimant},
        ledger::Need,
        mode_switch::{self, Request},
        outbox::{self, BEGIN_WITHIN_MS, Settled},
        play::Play,
        reconcile::{self, Copy},
        reply::{self, Cost, Draft},
        turn::need_of,
    },
};

/// Turns and sends under way at once, stopped ones included.
const AT_ONCE: usize = 2;

/// What is explored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scene {
    pub(super) limits: Limits,
    pub(super) text: &'static str,
    /// Whether anything is followed up.
    pub(super) follow_ups: bool,
    pub(super) follow_up_text: Option<&'static str>,
    pub(super) weakness: Weakness,
    /// Only promises that begin so are held against it.
    pub(super) promise: &'static str,
}

impl Scene {
    pub(super) const fn of(limits: Limits) -> Self {
        Self {
            limits,
            text: "Yes.",
            follow_ups: true,
            follow_up_text: Some("Still there?"),
            weakness: Weakness::None,
            promise: "",
        }
    }
}

/// How often something may happen that need not.
#[derive(Debug, Clone, Copy, Hash)]
pub(super) struct Limits {
    /// Texts of the contact.
    pub(super) writes: u8,
    /// Of instances, the model and the provider.
    pub(super) faults: u8,
    /// What people do, and what the contact does beside writing.
    pub(super) acts: u8,
}

/// A rule left out on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weakness {
    None,
    ClaimsAnyVersion,
    CommitsAnyFence,
    PostsAnyTime,
    SettlesAnyAttempt,
    ResendsUnknown,
}

/// A send that an instance has claimed.
#[derive(Debug, Clone)]
pub(super) struct Sending {
    pub(super) attempt: Uuid,
    pub(super) message: Message,
    pub(super) claimed_at: Time,
    /// What it is to answer, as the sender loads it again when it settles.
    pub(super) covered: Vec<Uuid>,
    /// What the provider made of it.
    pub(super) posted: Option<String>,
}

/// What the provider has accepted.
#[derive(Debug, Clone)]
pub(super) struct Accepted {
    pub(super) id: String,
    pub(super) message: Uuid,
    pub(super) text: String,
    pub(super) at: Time,
    pub(super) echoed: bool,
}

/// The world.
#[derive(Clone)]
pub(super) struct World {
    pub(super) play: Play,
    pub(super) scene: Scene,
    pub(super) left: Limits,
    pub(super) turns: Vec<Begun>,
    pub(super) sends: Vec<Sending>,
    pub(super) accepted: Vec<Accepted>,
    /// Switches to HUMAN whose receipt still waits, by version.
    pub(super) unsettled: Option<i64>,
    /// The newest version whose receipt said settled.
    pub(super) settled: i64,
    /// Messages that a person sent again, each after so many sends had been accepted.
    pub(super) retried: Vec<(Uuid, usize)>,
}

/// What may happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    ContactWrites,
    ContactReacts,
    TurnBegins,
    TurnAnswers(usize),
    TurnHandsOver(usize),
    TurnFails(usize),
    TurnIsGivenBack(usize),
    TurnLeaseEnds,
    SendIsClaimed,
    ProviderAccepts(usize),
    ProviderIsAway(usize),
    ProviderRefuses(usize),
    PostIsTooLate(usize),
    AnswerArrives(usize),
    AnswerIsLost(usize),
    SenderDies(usize),
    SendLeaseEnds,
    EchoArrives(usize),
    TakeOver,
    ReceiptSettles,
    Release,
    PersonWrites,
    PersonRetries(i64),
    PersonConfirms(i64),
    PersonWithdraws(i64),
    FollowUpIsCalledOff,
    FollowUpIsScheduled,
    FollowUpIsDue,
    Close,
    TimePasses,
}

/// What an act takes from the limits.
enum Price {
    Free,
    Write,
    Fault,
    Act,
}

impl World {
    pub(super) fn begin(scene: Scene) -> Self {
        let play = Play::by(|policy| {
            policy.burst_quiet_ms = 0;
            policy.burst_max_ms = 3_600_000;
            policy.retry_base_ms = 0;
            policy.ai_attempts = 2;
            policy.send_attempts = 2;
            // With one at a time for the whole channel, nothing would show that a conversation is held in order too.
            policy.send_in_flight = 2;
            policy.stale_ms = 0;
            policy.repeat_ms = 0;
            policy.split_chars = 20;
            policy.human_overdue_ms = 0;
            policy.follow_up_after_ms = if scene.follow_ups { 100_000 } else { 0 };
            policy.follow_up_late_ms = 3_600_000;
            policy.follow_up_text = scene.follow_up_text.map(str::to_owned);
        });
        Self {
            play,
            scene,
            left: scene.limits,
            turns: Vec::new(),
            sends: Vec::new(),
            accepted: Vec::new(),
            unsettled: None,
            settled: 0,
            retried: Vec::new(),
        }
    }

    /// Everything that may happen now.
    pub(super) fn acts(&self) -> Vec<Act> {
        let (play, now) = (&self.play, self.play.now);
        let is_due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        let mut acts = Vec::new();
        if is_due(play.clocks.turn_at) && self.turns.len() < AT_ONCE {
            acts.push(Act::TurnBegins);
        }
        for (at, turn) in self.turns.iter().enumerate() {
            acts.extend([Act::TurnAnswers(at), Act::TurnFails(at), Act::TurnIsGivenBack(at)]);
            if turn.turn.purpose == Purpose::Reply {
                acts.push(Act::TurnHandsOver(at));
            }
        }
        if play.conversation.live_lease(now).is_some() {
            acts.push(Act::TurnLeaseEnds);
        }
        if is_due(play.clocks.send_at) && self.sends.len() < AT_ONCE {
            acts.push(Act::SendIsClaimed);
        }
        for (at, send) in self.sends.iter().enumerate() {
            let in_time = now.since(send.claimed_at) < BEGIN_WITHIN_MS;
            match &send.posted {
                Some(_) => acts.extend([Act::AnswerArrives(at), Act::AnswerIsLost(at), Act::SenderDies(at)]),
                None if in_time || self.scene.weakness == Weakness::PostsAnyTime => {
                    acts.extend([
                        Act::ProviderAccepts(at),
                        Act::ProviderIsAway(at),
                        Act::ProviderRefuses(at),
                        Act::SenderDies(at),
                    ]);
                }
                None => acts.push(Act::PostIsTooLate(at)),
            }
        }
        if self.sending().is_some() {
            acts.push(Act::SendLeaseEnds);
        }
        acts.extend((0..self.accepted.len()).filter(|at| !self.accepted[*at].echoed).map(Act::EchoArrives));
        if self.unsettled.is_some() && self.sending().is_none_or(|message| !message.is_machine_made()) {
            acts.push(Act::ReceiptSettles);
        }
        if play.clocks.follow_up_at.is_some() {
            acts.extend([Act::FollowUpIsDue, Act::FollowUpIsCalledOff]);
        }
        acts.extend([Act::ContactWrites, Act::TakeOver, Act::PersonWrites, Act::Close]);
        if self.scene.follow_ups {
            acts.extend([Act::ContactReacts, Act::FollowUpIsScheduled]);
        }
        if play.conversation.mode.mode == Mode::Human {
            acts.push(Act::Release);
        }
        for message in &play.messages {
            match message.delivery.as_ref().map(|delivery| delivery.state) {
                Some(DeliveryState::Unknown) => {
                    acts.extend([Act::PersonRetries(message.seq), Act::PersonConfirms(message.seq)]);
                }
                Some(DeliveryState::Failed | DeliveryState::Dead) => {
                    acts.push(Act::PersonRetries(message.seq));
                }
                Some(DeliveryState::Queued) => acts.push(Act::PersonWithdraws(message.seq)),
                _ => {}
            }
        }
        let is_ahead = |at: Option<Time>| at.is_some_and(|at| at > now);
        if (play.conversation.lease.is_none() && is_ahead(play.clocks.turn_at))
            || is_ahead(play.clocks.send_at)
        {
            acts.push(Act::TimePasses);
        }
        acts.retain(|act| self.affords(*act));
        acts
    }

    fn affords(&self, act: Act) -> bool {
        match self.price(act) {
            Price::Free => true,
            Price::Write => self.left.writes > 0,
            Price::Fault => self.left.faults > 0,
            Price::Act => self.left.acts > 0,
        }
    }

    fn price(&self, act: Act) -> Price {
        let runs = |turn: Option<Uuid>| self.turns.iter().any(|begun| Some(begun.turn.id) == turn);
        match act {
            Act::TurnBegins
            | Act::TurnAnswers(_)
            | Act::SendIsClaimed
            | Act::ProviderAccepts(_)
            | Act::PostIsTooLate(_)
            | Act::AnswerArrives(_)
            | Act::EchoArrives(_)
            | Act::ReceiptSettles
            | Act::TimePasses => Price::Free,
            // So much later, whoever holds a turn or a send must have stood still.
            Act::FollowUpIsDue if self.turns.is_empty() && self.sends.is_empty() => Price::Free,
            // Whoever died cannot settle any more; whoever only stands still is the fault itself.
            Act::TurnLeaseEnds if !runs(self.play.conversation.lease.as_ref().map(|lease| lease.turn)) => {
                Price::Free
            }
            Act::SendLeaseEnds if !self.sends.iter().any(|send| self.is_current(send)) => Price::Free,
            Act::TurnLeaseEnds
            | Act::SendLeaseEnds
            | Act::FollowUpIsDue
            | Act::TurnFails(_)
            | Act::TurnIsGivenBack(_)
            | Act::ProviderIsAway(_)
            | Act::ProviderRefuses(_)
            | Act::AnswerIsLost(_)
            | Act::SenderDies(_) => Price::Fault,
            Act::ContactWrites => Price::Write,
            Act::ContactReacts
            | Act::TurnHandsOver(_)
            | Act::TakeOver
            | Act::Release
            | Act::PersonWrites
            | Act::PersonRetries(_)
            | Act::PersonConfirms(_)
            | Act::PersonWithdraws(_)
            | Act::FollowUpIsCalledOff
            | Act::FollowUpIsScheduled
            | Act::Close => Price::Act,
        }
    }

    /// The message that is being sent.
    pub(super) fn sending(&self) -> Option<&Message> {
        self.play.messages.iter().find(|message| message.is(DeliveryState::Sending))
    }

    fn is_current(&self, send: &Sending) -> bool {
        let attempt = self.sending().and_then(|message| message.delivery.as_ref()?.attempt);
        attempt.is_some_and(|attempt| attempt.id == send.attempt)
    }

    fn id_of(&self, seq: i64) -> Uuid {
        self.play.messages.iter().find(|message| message.seq == seq).unwrap().id
    }

    /// Does it.
    pub(super) fn after(&self, act: Act) -> Self {
        let mut next = self.clone();
        match self.price(act) {
            Price::Free => {}
            Price::Write => next.left.writes -= 1,
            Price::Fault => next.left.faults -= 1,
            Price::Act => next.left.acts -= 1,
        }
        next.perform(act);
        next.play.events.clear();
        next
    }

    fn perform(&mut self, act: Act) {
        match act {
            Act::ContactWrites => self.contact_writes(None),
            Act::ContactReacts => self.contact_writes(Some(OutcomeReason::Reaction)),
            Act::TurnBegins => self.turn_begins(),
            Act::TurnAnswers(at) => self.turn_answers(at, None),
            Act::TurnHandsOver(at) => self.turn_answers(at, Some("asked for".to_owned())),
            Act::TurnFails(at) => self.turn_fails(at),
            Act::TurnIsGivenBack(at) => {
                let begun = self.turns.remove(at);
                self.step(&need_of(&begun), |docket, policy| {
                    reply::abandon(docket, policy, &begun, Cost::default())
                });
            }
            Act::TurnLeaseEnds => {
                let until = self.play.conversation.lease.as_ref().unwrap().until;
                self.play.now = self.play.now.max(until);
            }
            Act::SendIsClaimed => self.send_is_claimed(),
            Act::ProviderAccepts(at) => self.provider_accepts(at),
            Act::ProviderIsAway(at) => {
                self.settle(at, Settled::Again(None, "refused the connection".to_owned()))
            }
            Act::ProviderRefuses(at) => self.settle(
                at,
                Settled::Refused(crate::domain::message::DeliveryReason::NoAccount, "no account".to_owned()),
            ),
            Act::PostIsTooLate(at) => self.settle(at, Settled::Untried),
            Act::AnswerArrives(at) => {
                let id = self.sends[at].posted.clone().unwrap();
                self.settle(at, Settled::Sent(id));
            }
            Act::AnswerIsLost(at) => self.settle(at, Settled::Unclear("timed out".to_owned())),
            Act::SenderDies(at) => {
                self.sends.remove(at);
            }
            Act::SendLeaseEnds => self.send_lease_ends(),
            Act::EchoArrives(at) => self.echo_arrives(at),
            Act::TakeOver => self.take_over(),
            Act::ReceiptSettles => self.receipt_settles(),
            Act::Release => {
                let request = request();
                let _ = self.step(&Need { newest: 20, ..Need::default() }, |docket, policy| {
                    mode_switch::apply(docket, policy, Mode::Ai, &request)
                });
            }
            Act::PersonWrites => {
                let words = [Words { text: "A person here.".to_owned(), quoted: None }];
                let _ = self.step(&Need::default(), |docket, policy| {
                    words::say(docket, policy, &words, &who(), None)
                });
            }
            Act::PersonRetries(seq) => {
                let id = self.id_of(seq);
                self.retried.push((id, self.accepted.len()));
                let need = Need { messages: vec![id], newest: 20, ..Need::default() };
                let _ = self.step(&need, |docket, policy| fate::retry(docket, policy, id, &who()));
            }
            Act::PersonConfirms(seq) => {
                let id = self.id_of(seq);
                let need = Need { messages: vec![id], newest: 20, ..Need::default() };
                let _ = self.step(&need, |docket, policy| fate::confirm(docket, policy, id, &who()));
            }
            Act::PersonWithdraws(seq) => {
                let id = self.id_of(seq);
                let need = Need { messages: vec![id], newest: 20, ..Need::default() };
                let _ = self.step(&need, |docket, policy| fate::withdraw(docket, policy, id, &who()));
            }
            Act::FollowUpIsCalledOff => {
                self.step(&Need::default(), |docket, _| agenda::cancel(docket, "called_off", "agent:ana"));
            }
            Act::FollowUpIsScheduled => {
                let wish = agenda::Wish {
                    delay_ms: Some(50_000),
                    text: Some("A reminder.".to_owned()),
                    ..agenda::Wish::default()
                };
                self.step(&Need::default(), |docket, policy| {
                    agenda::schedule(docket, policy, &wish, "agent:ana")
                });
            }
            Act::FollowUpIsDue => self.follow_up_is_due(),
            Act::Close => {
                self.step(&Need::default(), |docket, policy| {
                    conversations::close(docket, policy, "agent:ana")
                });
            }
            Act::TimePasses => {
                let clocks = self.play.clocks;
                let ahead =
                    [clocks.turn_at, clocks.send_at].into_iter().flatten().filter(|at| *at > self.play.now);
                self.play.now = ahead.min().unwrap();
            }
        }
    }

    fn step<T>(&mut self, need: &Need, step: impl FnOnce(&mut Docket, &Policy) -> T) -> T {
        self.play.step_with(need, step)
    }

    /// Neither the claim nor what comes back to the queue asks for mode and version, if the rules are weakened so.
    fn step_unchecked<T>(&mut self, need: &Need, step: impl FnOnce(&mut Docket, &Policy) -> T) -> T {
        let is_weak = self.scene.weakness == Weakness::ClaimsAnyVersion;
        self.step(need, |docket, policy| {
            let is_assistants = |message: &Message| {
                is_weak && message.delivery.as_ref().is_some_and(|delivery| delivery.gate == Gate::Assistant)
            };
            let unchecked = docket.ids(is_assistants);
            pass_through(docket, &unchecked, Gate::Person);
            let outcome = step(docket, policy);
            pass_through(docket, &unchecked, Gate::Assistant);
            outcome
        })
    }

    fn contact_writes(&mut self, inert: Option<OutcomeReason>) {
        let id = format!("IN{}", self.play.messages.len());
        let mut arrival = self.play.arrival(&id, "Are you open?");
        if inert.is_some() {
            arrival.kind = Kind::Reaction;
            arrival.inert = inert;
        }
        let need = Need { keys: vec![id], ..Need::default() };
        self.step(&need, |docket, policy| inbox::admit(docket, policy, &arrival));
    }

    fn turn_begins(&mut self) {
        let claimant = claimant();
        let need = Need { turn: Some(claimant.turn), ..Need::default() };
        let claim = self.step(&need, |docket, policy| inbox::claim_ripe(docket, policy, &claimant));
        if let Claim::Begun(begun) = claim {
            self.turns.push(*begun);
        }
    }

    fn turn_answers(&mut self, at: usize, hand_over: Option<String>) {
        let begun = self.turns.remove(at);
        let text = if hand_over.is_some() { "A colleague comes." } else { self.scene.text };
        let draft = Draft { text: text.to_owned(), hand_over, ..Draft::default() };
        let is_weak = self.scene.weakness == Weakness::CommitsAnyFence;
        self.step(&need_of(&begun), |docket, policy| {
            let mut begun = begun.clone();
            if is_weak {
                begun.turn.fence = docket.conversation.fence;
            }
            reply::commit(docket, policy, &begun, &draft, 0.0)
        });
    }

    fn turn_fails(&mut self, at: usize) {
        let begun = self.turns.remove(at);
        let failure =
            Failure { kind: FailureKind::Server, retry_after_ms: None, detail: "status 500".to_owned() };
        self.step(&need_of(&begun), |docket, policy| {
            reply::fail(docket, policy, &begun, &failure, Cost::default(), 0.0)
        });
    }

    fn send_is_claimed(&mut self) {
        let attempt = Uuid::now_v7();
        let need = Need { channel: true, ..Need::default() };
        let (claim, covered) = self.step_unchecked(&need, |docket, policy| {
            let covered = docket.ids(Message::is_covered);
            (outbox::claim_due(docket, policy, attempt), covered)
        });
        if let outbox::Claim::Claimed(message) = claim {
            let claimed_at = self.play.now;
            self.sends.push(Sending { attempt, message: *message, claimed_at, covered, posted: None });
        }
    }

    fn provider_accepts(&mut self, at: usize) {
        let id = format!("OUT{}", self.accepted.len());
        let send = &mut self.sends[at];
        send.posted = Some(id.clone());
        self.accepted.push(Accepted {
            id,
            message: send.message.id,
            text: send.message.text.clone(),
            at: self.play.now,
            echoed: false,
        });
    }

    fn settle(&mut self, at: usize, settled: Settled) {
        let send = self.sends.remove(at);
        let mut attempt = send.attempt;
        if self.scene.weakness == Weakness::SettlesAnyAttempt {
            let current = self.play.message(send.message.id).delivery.as_ref().and_then(|it| it.attempt);
            attempt = current.map_or(attempt, |current| current.id);
        }
        let keys = if let Settled::Sent(id) = &settled { vec![id.clone()] } else { Vec::new() };
        let need = Need { keys, messages: send.covered, ..Need::default() };
        self.step_unchecked(&need, |docket, policy| outbox::settle(docket, policy, attempt, &settled, 0.0));
    }

    fn send_lease_ends(&mut self) {
        let attempt = self.sending().and_then(|message| message.delivery.as_ref()?.attempt);
        self.play.now = self.play.now.max(attempt.unwrap().lease_until);
        let is_weak = self.scene.weakness == Weakness::ResendsUnknown;
        self.step(&Need::default(), |docket, policy| {
            conversations::pass_time(docket, policy);
            reconcile::expire_leases(docket, policy);
            for id in docket.ids(|message| is_weak && message.is(DeliveryState::Unknown)) {
                if let Some(delivery) = docket.edit(id).and_then(|message| message.delivery.as_mut()) {
                    delivery.state = DeliveryState::Queued;
                }
            }
        });
    }

    fn echo_arrives(&mut self, at: usize) {
        let accepted = &mut self.accepted[at];
        accepted.echoed = true;
        let (id, text, left_at) = (accepted.id.clone(), accepted.text.clone(), accepted.at);
        let mut arrival = self.play.arrival(&id, &text);
        arrival.at = Some(left_at);
        let need = Need { keys: vec![id], ..Need::default() };
        self.step(&need, |docket, policy| reconcile::take_copy(docket, policy, &arrival, Copy::Api));
    }

    fn take_over(&mut self) {
        let request = request();
        let receipt = self.step(&Need { newest: 20, ..Need::default() }, |docket, policy| {
            mode_switch::apply(docket, policy, Mode::Human, &request)
        });
        let receipt = receipt.unwrap();
        let version = receipt.conversation.mode.version;
        if receipt.settled {
            self.settled = version;
        } else {
            self.unsettled = Some(version);
        }
    }

    fn receipt_settles(&mut self) {
        let version = self.unsettled.take().unwrap();
        let in_flight = self.step(&Need::default(), |docket, _| outbox::in_flight(docket, version));
        let is_sending = |id: &Uuid| self.play.message(*id).is(DeliveryState::Sending);
        if in_flight.iter().any(is_sending) {
            self.unsettled = Some(version);
        } else {
            self.settled = version;
        }
    }

    fn follow_up_is_due(&mut self) {
        self.play.now = self.play.now.max(self.play.clocks.follow_up_at.unwrap());
        let claimant = claimant();
        let need = Need { newest: 20, turn: Some(claimant.turn), ..Need::default() };
        let fired = self.step(&need, |docket, policy| agenda::fire(docket, policy, &claimant));
        if let Fired::Begun(begun) = fired {
            self.turns.push(*begun);
        }
    }
}

fn pass_through(docket: &mut Docket, ids: &[Uuid], gate: Gate) {
    for id in ids {
        if let Some(delivery) = docket.edit(*id).and_then(|message| message.delivery.as_mut()) {
            delivery.gate = gate;
        }
    }
}

fn claimant() -> Claimant {
    Claimant { owner: "A".to_owned(), turn: Uuid::now_v7(), found_locked: false }
}

fn request() -> Request {
    Request { actor: "agent:ana".to_owned(), ..Request::default() }
}

fn who() -> Who {
    Who { actor: "agent:ana".to_owned(), agent: None, origin: Origin::Api }
}
