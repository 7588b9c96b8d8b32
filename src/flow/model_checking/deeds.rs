//! What each act does to the world: one transaction of the rules, one POST, or time that passes.

use uuid::Uuid;

use super::world::{Accepted, Act, Price, Read, Sending, Switch, Weakness, World};
use crate::{
    domain::{
        conversation::{Conversation, Lease},
        docket::Docket,
        draft::DraftState,
        event::EventType,
        message::{DeliveryReason, DeliveryState, Gate, Kind, Message, Origin, OutcomeReason},
        mode::Mode,
        policy::Policy,
        turn::Purpose,
    },
    flow::{
        agenda::{self, Fired},
        conversations,
        desk::{Approval, Idempotency, NewMessage, Who, drafts, follow_ups, messages, resolve_send},
        generator::{Failure, FailureKind, tools::Asking},
        inbox::{self, Claim, Claimant},
        ledger::Need,
        mode_switch::{self, Request},
        outbox::{self, Settled},
        provider::Amendment,
        reconcile::{self, Copy},
        reply::{self, Answer, Cost, errands},
        turn::need_of,
    },
};

impl World {
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
        let told = next.play.events.iter().filter(|event| event.kind == EventType::ToolCalled);
        next.told.extend(told.filter_map(|event| event.turn));
        next.play.events.clear();
        next
    }

    fn perform(&mut self, act: Act) {
        match act {
            Act::ContactWrites => self.contact_writes(None),
            Act::ContactReacts => self.contact_writes(Some(OutcomeReason::Reaction)),
            Act::ContactEdits(seq) => self.contact_amends(seq, false),
            Act::ContactDeletes(seq) => self.contact_amends(seq, true),
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
            Act::ProviderRefuses(at) => {
                self.settle(at, Settled::Refused(DeliveryReason::NoAccount, "no account".to_owned()))
            }
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
            Act::IsDelivered(at) => self.is_reported(at, DeliveryState::Delivered),
            Act::FailureIsReported(at) => self.is_reported(at, DeliveryState::Failed),
            Act::PhoneWrites => {
                let id = format!("PHONE{}", self.play.messages.len());
                let arrival = self.play.arrival(&id, "A person at the phone.");
                let need = Need { keys: vec![id], ..Need::default() };
                self.step(&need, |docket, policy| {
                    reconcile::take_copy(docket, policy, &arrival, Copy::Phone)
                });
            }
            Act::TakeOver => self.take_over(),
            Act::ReceiptSettles => self.receipt_settles(),
            Act::Release => {
                let request = request();
                let _ = self.step(&Need { newest: 20, ..Need::default() }, |docket, policy| {
                    mode_switch::apply(docket, policy, Mode::Ai, &request)
                });
            }
            Act::PersonWrites => {
                let words = [NewMessage::of("A person here.")];
                let _ = self.step(&Need::default(), |docket, policy| {
                    messages::say(docket, policy, &words, &who(), &Idempotency::of_its_own())
                });
            }
            Act::PersonRetries(seq) => {
                let id = self.id_of(seq);
                self.retried.push((id, self.accepted.len()));
                let need = Need { messages: vec![id], newest: 20, ..Need::default() };
                let _ = self.step(&need, |docket, policy| resolve_send::retry(docket, policy, id, &who()));
            }
            Act::PersonConfirms(seq) => {
                let id = self.id_of(seq);
                let need = Need { messages: vec![id], newest: 20, ..Need::default() };
                let _ = self.step(&need, |docket, policy| resolve_send::confirm(docket, policy, id, &who()));
            }
            Act::PersonWithdraws(seq) => {
                let id = self.id_of(seq);
                let need = Need { messages: vec![id], newest: 20, ..Need::default() };
                let _ = self.step(&need, |docket, policy| resolve_send::withdraw(docket, policy, id, &who()));
            }
            Act::FollowUpIsCalledOff => {
                let need = Need { newest: 20, ..Need::default() };
                let _ = self
                    .step(&need, |docket, policy| follow_ups::call_off(docket, Some(policy), "agent:ana"));
            }
            Act::FollowUpIsScheduled => {
                let wish = agenda::NewFollowUp {
                    delay_ms: Some(50_000),
                    text: Some("A reminder.".to_owned()),
                    ..agenda::NewFollowUp::default()
                };
                let need = Need { newest: 20, ..Need::default() };
                let _ = self
                    .step(&need, |docket, policy| follow_ups::schedule(docket, policy, &wish, "agent:ana"));
            }
            Act::FollowUpIsDue => self.follow_up_is_due(),
            Act::PersonAsksForDraft => {
                let _ = self.step(&Need::default(), |docket, policy| {
                    drafts::ask(docket, policy, &who(), &Idempotency::of_its_own())
                });
            }
            Act::PersonSendsDraft(at) => {
                let id = self.play.drafts[at].id;
                let wanted = Approval { text: None, force: true };
                let need = Need { draft: Some(id), ..Need::default() };
                let _ = self.step(&need, |docket, policy| {
                    drafts::send(docket, policy, id, &wanted, &who(), &Idempotency::of_its_own())
                });
            }
            Act::PersonDiscardsDraft(at) => {
                let id = self.play.drafts[at].id;
                let need = Need { draft: Some(id), ..Need::default() };
                let _ = self.step(&need, |docket, _| drafts::discard(docket, id, &who()));
            }
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
        let fresh = self.play.conversation.memo.draft;
        self.step(&need, |docket, policy| inbox::admit(docket, policy, &arrival));
        if let (Weakness::KeepsDraftsFresh, Some(fresh)) = (self.scene.weakness, fresh) {
            self.play.drafts.iter_mut().find(|draft| draft.id == fresh).unwrap().state = DraftState::Fresh;
            self.play.conversation.memo.draft = Some(fresh);
        }
    }

    fn contact_amends(&mut self, seq: i64, is_deletion: bool) {
        let id = self.id_of(seq);
        let message = self.play.message(id);
        let of = message.provider_message_id.clone().unwrap();
        let text = if is_deletion { String::new() } else { format!("{} Really?", message.text) };
        let chat = self.play.conversation.chat.clone();
        let newest = if is_deletion { mode_switch::ANSWER_NOW_MESSAGES } else { 0 };
        let need = Need { keys: vec![of.clone()], newest, ..Need::default() };
        let amendment = Amendment { chat, of, text, at: None, by: None };
        self.step(&need, |docket, policy| inbox::amend(docket, policy, &amendment, is_deletion));
    }

    fn turn_begins(&mut self) {
        let claimant = claimant();
        let need = Need { turn: Some(claimant.turn), ..Need::default() };
        let claim = self.step(&need, |docket, policy| inbox::claim_ripe(docket, policy, &claimant));
        if let Claim::Begun(begun) = claim {
            let texts = begun.burst.iter().map(|message| (message.id, message.text.clone())).collect();
            self.read.push(Read { turn: begun.turn.id, texts });
            self.turns.push(*begun);
        }
    }

    fn turn_answers(&mut self, at: usize, hand_over: Option<String>) {
        let begun = self.turns.remove(at);
        let text = if hand_over.is_some() { "A colleague comes." } else { self.scene.text };
        let errands = if self.scene.errands { vec![book()] } else { Vec::new() };
        let answer = Answer { text: text.to_owned(), hand_over, errands, ..Answer::default() };
        let weakness = self.scene.weakness;
        self.step(&need_of(&begun), |docket, policy| {
            let mut begun = begun.clone();
            if weakness == Weakness::CommitsAnyFence {
                begun.turn.fence = docket.conversation.fence;
                let (owner, until) = ("A".to_owned(), docket.now);
                docket.conversation.lease = Some(Lease { owner, turn: begun.turn.id, until });
            }
            if weakness == Weakness::SendsDrafts {
                begun.turn.purpose = Purpose::Reply;
            }
            reply::commit(docket, policy, &begun, &answer, 0.0);
            if weakness == Weakness::TellsErrandsAtOnce {
                errands::tell(docket, begun.turn.id);
            }
        });
    }

    fn turn_fails(&mut self, at: usize) {
        let begun = self.turns.remove(at);
        let failure = Failure::new(FailureKind::Server, "status 500");
        self.step(&need_of(&begun), |docket, policy| {
            reply::fail(docket, policy, &begun, &failure, Cost::default(), 0.0)
        });
    }

    fn send_is_claimed(&mut self) {
        let attempt = Uuid::now_v7();
        let need = Need { channel: true, ..Need::default() };
        let (claim, covered) = self.step_unchecked(&need, |docket, policy| {
            let claim = outbox::claim_due(docket, policy, attempt);
            let mut covered = Vec::new();
            if let outbox::Claim::Claimed(message) = &claim {
                covered = outbox::answered_by(docket, message);
            }
            (claim, covered)
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
            reported: None,
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
        let forgets = self.scene.weakness == Weakness::WritesAnewWhatWasTold;
        self.step_unchecked(&need, |docket, policy| {
            if forgets {
                docket.conversation.memo.told = None;
            }
            outbox::settle(docket, policy, attempt, &settled, 0.0);
        });
    }

    fn send_lease_ends(&mut self) {
        let attempt = self.sending().and_then(|message| message.delivery.as_ref()?.attempt);
        self.play.now = self.play.now.max(attempt.unwrap().lease_until);
        let is_weak = self.scene.weakness == Weakness::ResendsUnknown;
        self.step(&Need::default(), |docket, policy| {
            conversations::pass_time(docket, policy);
            reconcile::expire_leases(docket, policy);
            for id in docket.ids(|message| is_weak && message.is(DeliveryState::Unknown)) {
                if let Some(delivery) = docket.edit_delivery(id) {
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

    fn is_reported(&mut self, at: usize, state: DeliveryState) {
        let accepted = &mut self.accepted[at];
        accepted.reported = Some(state);
        let id = accepted.id.clone();
        let need = Need { keys: vec![id.clone()], ..Need::default() };
        self.step(&need, |docket, policy| reconcile::take_status(docket, policy, &id, state, None));
    }

    fn take_over(&mut self) {
        let request = request();
        let receipt = self.step(&Need { newest: 20, ..Need::default() }, |docket, policy| {
            mode_switch::apply(docket, policy, Mode::Human, &request)
        });
        let receipt = receipt.unwrap();
        let Conversation { mode, seq, .. } = receipt.conversation;
        let switch = Switch { version: mode.version, seq };
        if receipt.settled {
            self.settled = switch.seq;
        } else {
            self.unsettled = Some(switch);
        }
    }

    fn receipt_settles(&mut self) {
        let switch = self.unsettled.take().unwrap();
        let in_flight = self.step(&Need::default(), |docket, _| outbox::in_flight(docket, switch.version));
        let is_sending = |id: &Uuid| self.play.message(*id).is(DeliveryState::Sending);
        if in_flight.iter().any(is_sending) {
            self.unsettled = Some(switch);
        } else {
            self.settled = self.settled.max(switch.seq);
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
        if let Some(delivery) = docket.edit_delivery(*id) {
            delivery.gate = gate;
        }
    }
}

fn book() -> Asking {
    Asking { tool: "book".to_owned(), arguments: serde_json::Map::new() }
}

fn claimant() -> Claimant {
    Claimant { owner: "A".to_owned(), turn: Uuid::now_v7(), found_locked: false }
}

fn request() -> Request {
    Request::by(who())
}

fn who() -> Who {
    Who { actor: "agent:ana".to_owned(), agent: None, origin: Origin::Api }
}
