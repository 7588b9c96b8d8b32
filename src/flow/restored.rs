//! Step: settles what was unfinished in a backup, once it is loaded. The installation it was made from may have gone on since.
//!
//! In: conversations in which something was owed, waited for, or due, and the moment of the backup. Out: nothing of it leaves
//! by itself: what was owed has an unknown fate until the provider or a person tells it, what waited is a person's, and a
//! follow-up whose time has passed is withheld.

use std::{collections::BTreeMap, ops::AddAssign, sync::Arc};

use uuid::Uuid;

use super::{
    agenda, conversations, inbox,
    ledger::{self, Key, Ledger, Need, change},
    office_hours, outbox, reconcile,
};
use crate::domain::{
    conversation::AttentionReason,
    docket::{Docket, Entry},
    event::EventType,
    message::{Attempt, DeliveryReason, DeliveryState, Message},
    policy::Policy,
    time::Time,
    turn::TurnState,
};

/// Why its turns end, and its follow-ups.
const REASON: &str = "restored";

/// The generation of an installation that begins with a restore: it says when. One of a migration is a number alone.
pub fn generation_at(moment: Time) -> String {
    format!("r{:x}", moment.0)
}

/// When the installation of that generation began with a restore; None if it did not.
pub fn restored_at(generation: &str) -> Option<Time> {
    i64::from_str_radix(generation.strip_prefix('r')?, 16).ok().map(Time)
}

/// What was found unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settled {
    /// Messages that were owed or on their way, and are unknown now.
    pub held: usize,
    /// Messages of contacts that waited for the assistant, and are with people now.
    pub handed_over: usize,
    /// Follow-ups withheld.
    pub withheld: usize,
    /// Follow-ups that stay, and leave when they are due.
    pub pending: usize,
}

impl AddAssign for Settled {
    fn add_assign(&mut self, other: Self) {
        self.held += other.held;
        self.handed_over += other.handed_over;
        self.withheld += other.withheld;
        self.pending += other.pending;
    }
}

/// The rules, by channel, and those of a channel that is not there any more.
#[derive(Debug, Clone)]
pub struct Policies {
    /// By name.
    pub by_channel: BTreeMap<String, Policy>,
    /// Of any other.
    pub common: Policy,
}

/// Settles these conversations, one after the other.
pub async fn settle_all(
    ledger: &dyn Ledger,
    conversations: &[Uuid],
    policies: Policies,
    made_at: Time,
) -> Result<Settled, ledger::Error> {
    let policies = Arc::new(policies);
    let mut all = Settled::default();
    for conversation in conversations {
        let policies = Arc::clone(&policies);
        let step = move |docket: &mut Docket| {
            let policy = policies.by_channel.get(&docket.conversation.channel);
            settle(docket, policy.unwrap_or(&policies.common), made_at)
        };
        all += change(ledger, Key::Id(*conversation), Need::default(), step).await?;
    }
    Ok(all)
}

/// Settles one conversation. Done twice, it finds nothing the second time.
pub fn settle(docket: &mut Docket, policy: &Policy, made_at: Time) -> Settled {
    stop_turn(docket);
    // The business was notified by the previous installation, or the reply never left there.
    docket.conversation.memo.errands.clear();
    let held = lose_sight(docket, policy, made_at);
    let waiting = docket.ids(Message::waits);
    if !waiting.is_empty() {
        inbox::hand_over_stale(docket, &waiting);
        docket.conversation.memo.end_burst();
    }
    if office_hours::is_left_until_hours(docket, policy) && docket.conversation.waiting_since.is_some() {
        // It would come back by itself, and answer what may have been answered since, or say that it cannot read it.
        docket.conversation.mode.until = None;
        conversations::raise(docket, AttentionReason::Stale);
    }
    let is_due = docket.follow_up().is_some_and(|follow_up| follow_up.due_at <= docket.now);
    if is_due {
        agenda::withhold(docket, REASON);
    }
    let pending = usize::from(docket.follow_up().is_some());
    Settled { held, handed_over: waiting.len(), withheld: usize::from(is_due), pending }
}

/// The turn that was being written belongs to another installation.
fn stop_turn(docket: &mut Docket) {
    let owner = docket.conversation.lease.as_ref().map(|lease| lease.owner.clone());
    conversations::cancel_turn(docket, TurnState::Failed, REASON, |_| {
        Entry::of(EventType::LeaseTakenOver).with("from", owner).with("by", REASON)
    });
}

/// All of it is taken to have been tried since the backup, before the fate of any is lost: of a reply in parts each may have
/// left, and none is withdrawn for another.
fn lose_sight(docket: &mut Docket, policy: &Policy, made_at: Time) -> usize {
    for id in docket.ids(|message| message.is(DeliveryState::Queued)) {
        // Not an attempt of ours, but the earliest moment at which there may have been one: from then on it is looked for.
        let attempt = Attempt { id: Uuid::now_v7(), at: made_at, lease_until: made_at };
        outbox::begin_attempt(docket, policy, id, attempt);
    }
    let tried = docket.ids(|message| message.is(DeliveryState::Sending));
    for id in &tried {
        reconcile::lose_sight(docket, *id, "it was owed when the backup was made, and may have left since");
        if let Some(delivery) = docket.edit_delivery(*id) {
            delivery.reason = Some(DeliveryReason::Restored);
        }
    }
    reconcile::decide_parked(docket, policy);
    tried.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{
            message::Outcome,
            turn::{FollowUpState, Purpose},
        },
        flow::{
            generator::tools::Asking,
            inbox::Claim,
            outbox::Claim as Send,
            play::Play,
            provider::Arrival,
            reconcile::{Copy, Matched},
            reply::Answer,
        },
    };

    #[test]
    fn a_generation_says_when_it_began_with_a_restore() {
        let moment = Time(1_767_600_000_000);
        assert_eq!(restored_at(&generation_at(moment)), Some(moment));
        for other in ["0b12f00d", "restoring", "r", ""] {
            assert_eq!(restored_at(other), None, "{other}");
        }
    }

    fn restores(play: &mut Play, made_at: Time) -> Settled {
        play.step(|docket, policy| settle(docket, policy, made_at))
    }

    /// A reply in two parts is owed.
    fn owed() -> Play {
        let mut play = Play::by(|policy| policy.split_chars = 10);
        play.says("m1");
        let begun = play.begins();
        play.writes(&begun, "Two condos.\n\nBoth are near.");
        play
    }

    #[test]
    fn the_business_is_not_told_again() {
        let mut play = Play::new();
        play.says("A table, please");
        let begun = play.begins();
        let asking = Asking { tool: "book".into(), arguments: serde_json::Map::new() };
        let answer = Answer { text: "It is booked.".into(), errands: vec![asking], ..Answer::default() };
        play.commits(&begun, &answer);
        let made_at = play.now;
        restores(&mut play, made_at);
        assert_eq!(play.happened(EventType::ToolCalled), 0);
        assert_eq!(play.conversation.memo.errands, []);
    }

    fn outcome(play: &Play, id: Uuid) -> Option<Outcome> {
        play.message(id).inbound.map(|inbound| inbound.outcome)
    }

    #[test]
    fn nothing_that_was_owed_leaves_by_itself() {
        let mut play = owed();
        let made_at = play.now;
        play.wait(60_000);
        assert_eq!(restores(&mut play, made_at), Settled { held: 2, ..Settled::default() });
        assert_eq!(play.in_state(DeliveryState::Unknown).len(), 2, "no part is called off for another");
        assert_eq!(play.claims_send().1, Send::Nothing);
        assert!(play.messages.iter().filter_map(|message| message.delivery.as_ref()).all(|delivery| {
            delivery.reason == Some(DeliveryReason::Restored)
                && delivery.attempt.is_some_and(|attempt| attempt.at == made_at)
        }));
        let attention = play.conversation.attention.map(|attention| attention.reason);
        assert_eq!(attention, Some(AttentionReason::SendUnknown));
        assert!(
            play.messages
                .iter()
                .all(|message| message.inbound.is_none_or(|inbound| inbound.outcome == Outcome::Answered)),
            "what it answers has its end"
        );
        assert_eq!(restores(&mut play, made_at), Settled::default(), "once");
        play.wait(86_400_000);
        play.tends();
        assert_eq!(play.claims_send().1, Send::Nothing);
    }

    #[test]
    fn the_echo_of_what_had_left_is_known_and_the_rest_stays_with_people() {
        let mut play = owed();
        let made_at = play.now;
        play.wait(60_000);
        restores(&mut play, made_at);
        assert!(matches!(play.copy("BAE5A", "Two condos.", Copy::Api), Matched::Ours(_)));
        assert_eq!(play.in_state(DeliveryState::Sent), ["Two condos."]);
        assert_eq!(play.in_state(DeliveryState::Unknown), ["Both are near."]);
        assert_eq!(play.claims_send().1, Send::Nothing);
    }

    #[test]
    fn what_was_being_sent_is_unknown_too_unless_its_echo_was_here_already() {
        let mut play = owed();
        play.claims_send();
        assert_eq!(play.copy("BAE5A", "Two condos.", Copy::Api), Matched::Parked);
        let made_at = play.now;
        assert_eq!(restores(&mut play, made_at).held, 2);
        assert_eq!(play.in_state(DeliveryState::Sent), ["Two condos."]);
        assert_eq!(play.in_state(DeliveryState::Unknown), ["Both are near."]);
    }

    #[test]
    fn what_waited_for_the_assistant_is_a_persons_for_it_may_have_been_answered_since() {
        let mut play = Play::new();
        let waiting = play.says("m1");
        let made_at = play.now;
        play.wait(3_600_000);
        assert_eq!(restores(&mut play, made_at), Settled { handed_over: 1, ..Settled::default() });
        assert_eq!(outcome(&play, waiting), Some(Outcome::HandedOver));
        assert_eq!(play.claim(), Claim::Nothing);
        assert!(play.conversation.attention.is_some());
        play.says("m2");
        assert_eq!(play.begins().burst.len(), 1, "what comes now is answered as ever");
    }

    #[test]
    fn what_was_left_until_the_assistants_hours_stays_with_people() {
        let at = |text| Time::parse(text).expect("a time");
        for is_unreadable in [false, true] {
            let hours = crate::domain::hours::Hours::parse("Mon-Fri 09:00-18:00", "UTC").expect("hours");
            let mut play = Play::by(|policy| {
                policy.ai_hours = Some(Arc::new(hours));
                policy.unreadable_text = Some("Please write.".to_owned());
            });
            play.now = at("2026-01-09T20:00:00Z");
            let arrival = Arrival { is_unreadable, ..play.arrival("IN1", "Are you open?") };
            play.step(|docket, policy| inbox::admit(docket, policy, &arrival));
            let asked = play.messages[0].id;
            let made_at = play.now;
            play.now = at("2026-01-20T20:00:00Z");
            restores(&mut play, made_at);
            assert!(play.conversation.attention.is_some());
            play.now = at("2026-01-21T09:00:00Z");
            play.tends();
            assert_eq!(play.claim(), Claim::Nothing);
            assert_eq!((outcome(&play, asked), play.sends()), (Some(Outcome::LeftToHuman), Vec::new()));
        }
    }

    #[test]
    fn a_turn_that_was_running_ends_and_nothing_of_it_can_be_kept() {
        let mut play = Play::new();
        let asked = play.says("m1");
        let begun = play.begins();
        let made_at = play.now;
        assert_eq!(restores(&mut play, made_at).handed_over, 1);
        assert!(
            play.turns.iter().all(|turn| turn.state == TurnState::Failed)
                && begun.turn.purpose == Purpose::Reply
        );
        assert_eq!(outcome(&play, asked), Some(Outcome::HandedOver));
        play.writes(&begun, "Too late.");
        assert_eq!(play.in_state(DeliveryState::Queued), [""; 0]);
    }

    #[test]
    fn a_follow_up_whose_time_has_passed_is_withheld_and_one_to_come_stays() {
        for (passed_ms, withheld) in [(59_999, 0), (60_000, 1)] {
            let mut play = Play::new();
            play.exchange("m1", "one");
            play.schedules("Still there?", 60_000);
            let made_at = play.now;
            play.wait(passed_ms);
            let pending = 1 - withheld;
            assert_eq!(restores(&mut play, made_at), Settled { withheld, pending, ..Settled::default() });
            assert_eq!(play.pending_follow_ups(), pending);
            let is_told = |it: &crate::domain::turn::FollowUp| it.reason.as_deref() == Some(REASON);
            let held =
                |it: &&crate::domain::turn::FollowUp| it.state == FollowUpState::Withheld && is_told(it);
            assert_eq!(play.follow_ups.iter().filter(held).count(), withheld);
        }
    }
}
