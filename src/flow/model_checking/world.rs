//! One conversation and all that acts on it: the contact, people, two instances that may stand still, the provider.
//!
//! In: a scene. Out: everything that may happen next, and what it takes from the scene's limits.

use uuid::Uuid;

use crate::{
    domain::{
        draft::DraftState,
        message::{DeliveryState, Message, Origin},
        mode::Mode,
        policy::BurstPolicy,
        time::Time,
        turn::Purpose,
    },
    flow::{inbox::Begun, outbox::BEGIN_WITHIN_MS, play::Play},
};

/// Turns and sends under way at once, stopped ones included.
const AT_ONCE: usize = 2;

/// What is explored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scene {
    pub(super) limits: Limits,
    pub(super) text: &'static str,
    /// What becomes of several messages in a row.
    pub(super) burst: BurstPolicy,
    /// Whether the contact edits and deletes, and a person writes on the phone.
    pub(super) amendments: bool,
    /// Whether the provider reports how far messages got.
    pub(super) statuses: bool,
    /// Whether anything is followed up.
    pub(super) follow_ups: bool,
    pub(super) follow_up_text: Option<&'static str>,
    /// Whether the assistant suggests, and people ask for that.
    pub(super) drafts: bool,
    /// Whether each reply speaks of an errand of the business.
    pub(super) errands: bool,
    /// Who answers in the beginning.
    pub(super) mode: Mode,
    pub(super) weakness: Weakness,
    /// Only promises that begin so are held against it.
    pub(super) promise: &'static str,
}

impl Scene {
    pub(super) const fn of(limits: Limits) -> Self {
        Self {
            limits,
            text: "Yes.",
            burst: BurstPolicy::Interrupt,
            amendments: false,
            statuses: false,
            follow_ups: true,
            follow_up_text: Some("Still there?"),
            drafts: false,
            errands: false,
            mode: Mode::Ai,
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
    SendsDrafts,
    KeepsDraftsFresh,
    TellsErrandsAtOnce,
    WritesAnewWhatWasTold,
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
    /// The newest that was reported of it.
    pub(super) reported: Option<DeliveryState>,
}

/// A switch to HUMAN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Switch {
    pub(super) version: i64,
    /// The newest message then.
    pub(super) seq: i64,
}

/// What a turn has read.
#[derive(Debug, Clone)]
pub(super) struct Read {
    pub(super) turn: Uuid,
    pub(super) texts: Vec<(Uuid, String)>,
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
    /// A switch to HUMAN whose receipt still waits.
    pub(super) unsettled: Option<Switch>,
    /// Of all messages up to this number a receipt has said that none will leave.
    pub(super) settled: i64,
    /// Messages that a person sent again, each after so many sends had been accepted.
    pub(super) retried: Vec<(Uuid, usize)>,
    /// What the model read of the contact's messages, by turn.
    pub(super) read: Vec<Read>,
    /// Turns of whose errands the business was told, each as often as it was.
    pub(super) told: Vec<Uuid>,
}

/// What may happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    ContactWrites,
    ContactReacts,
    ContactEdits(i64),
    ContactDeletes(i64),
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
    IsDelivered(usize),
    FailureIsReported(usize),
    PhoneWrites,
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
    PersonAsksForDraft,
    PersonSendsDraft(usize),
    PersonDiscardsDraft(usize),
    Close,
    TimePasses,
}

/// What an act takes from the limits.
pub(super) enum Price {
    Free,
    Write,
    Fault,
    Act,
}

impl World {
    pub(super) fn begin(scene: Scene) -> Self {
        let mut play = Play::by(|policy| {
            policy.burst = scene.burst;
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
            policy.follow_up_after_ms = if scene.follow_ups { vec![100_000] } else { Vec::new() };
            policy.follow_up_late_ms = 3_600_000;
            policy.follow_up_text = scene.follow_up_text.map(str::to_owned);
        });
        play.conversation.drafting = scene.drafts;
        if scene.mode == Mode::Human {
            play.switches(Mode::Human);
        }
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
            read: Vec::new(),
            told: Vec::new(),
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
        for (at, accepted) in self.accepted.iter().enumerate().filter(|_| self.scene.statuses) {
            match accepted.reported {
                None => acts.extend([Act::IsDelivered(at), Act::FailureIsReported(at)]),
                Some(DeliveryState::Failed) => acts.push(Act::IsDelivered(at)),
                Some(_) => {}
            }
        }
        if self.unsettled.is_some() && self.sending().is_none_or(|message| !message.is_machine_made()) {
            acts.push(Act::ReceiptSettles);
        }
        if play.clocks.follow_up_at.is_some() {
            acts.push(Act::FollowUpIsDue);
        }
        let is_owed = |message: &Message| message.origin == Origin::FollowUp && message.is_open();
        if play.clocks.follow_up_at.is_some() || play.messages.iter().any(is_owed) {
            acts.push(Act::FollowUpIsCalledOff);
        }
        acts.extend([Act::ContactWrites, Act::TakeOver, Act::PersonWrites, Act::Close]);
        if self.scene.follow_ups {
            acts.extend([Act::ContactReacts, Act::FollowUpIsScheduled]);
        }
        if self.scene.drafts {
            acts.push(Act::PersonAsksForDraft);
            for (at, draft) in play.drafts.iter().enumerate() {
                match draft.state {
                    DraftState::Fresh | DraftState::Stale => {
                        acts.extend([Act::PersonSendsDraft(at), Act::PersonDiscardsDraft(at)]);
                    }
                    DraftState::Discarded => acts.push(Act::PersonSendsDraft(at)),
                    DraftState::Sent | DraftState::Edited => {}
                }
            }
        }
        if self.scene.amendments {
            acts.push(Act::PhoneWrites);
            let contacts = play.messages.iter().filter(|message| message.inbound.is_some());
            for message in contacts.filter(|message| message.deleted_at.is_none()) {
                acts.extend([Act::ContactEdits(message.seq), Act::ContactDeletes(message.seq)]);
            }
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

    pub(super) fn price(&self, act: Act) -> Price {
        let runs = |turn: Option<Uuid>| self.turns.iter().any(|begun| Some(begun.turn.id) == turn);
        match act {
            Act::TurnBegins
            | Act::TurnAnswers(_)
            | Act::SendIsClaimed
            | Act::ProviderAccepts(_)
            | Act::PostIsTooLate(_)
            | Act::AnswerArrives(_)
            | Act::EchoArrives(_)
            | Act::IsDelivered(_)
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
            | Act::FailureIsReported(_)
            | Act::AnswerIsLost(_)
            | Act::SenderDies(_) => Price::Fault,
            Act::ContactWrites => Price::Write,
            Act::ContactReacts
            | Act::ContactEdits(_)
            | Act::ContactDeletes(_)
            | Act::PhoneWrites
            | Act::TurnHandsOver(_)
            | Act::TakeOver
            | Act::Release
            | Act::PersonWrites
            | Act::PersonRetries(_)
            | Act::PersonConfirms(_)
            | Act::PersonWithdraws(_)
            | Act::FollowUpIsCalledOff
            | Act::FollowUpIsScheduled
            | Act::PersonAsksForDraft
            | Act::PersonSendsDraft(_)
            | Act::PersonDiscardsDraft(_)
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

    pub(super) fn id_of(&self, seq: i64) -> Uuid {
        self.play.messages.iter().find(|message| message.seq == seq).unwrap().id
    }
}
