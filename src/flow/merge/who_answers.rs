//! Rules: who answers one person in two conversations: people, if they have either of them, and by one clock.
//!
//! In: how the other one stands. Out: the mode here, and its clock.

use uuid::Uuid;

use crate::{
    domain::{
        conversation::Conversation, docket::Docket, event::actor, mode::Mode, policy::Policy, time::Time,
    },
    flow::conversations::{self, By},
};

/// A person answers the other one: so they do here, for the same reason, since then and for as long. Unless somebody has given
/// this one back since.
pub(super) fn become_human(docket: &mut Docket, policy: &Policy, other: &Conversation, agent: Option<Uuid>) {
    if other.mode.mode == Mode::Ai {
        return;
    }
    let mine = &docket.conversation.mode;
    match mine.mode {
        Mode::Human => keep_the_clock_of(docket, other),
        Mode::Ai => {
            let was_given_back = actor::is_our_side(&mine.actor) && mine.changed_at > other.mode.changed_at;
            if !was_given_back {
                let by = By { agent, ..By::of(other.mode.reason, &other.mode.actor) };
                conversations::switch(docket, policy, Mode::Human, by);
                // Not since now: whoever gives the other one back before this is told has decided later.
                docket.conversation.mode.changed_at = other.mode.changed_at;
                take_clock(docket, other);
            }
        }
    }
}

/// People have both: by the clock that somebody set last. One that runs until the assistant's hours, nobody has set.
fn keep_the_clock_of(docket: &mut Docket, other: &Conversation) {
    let mine = &docket.conversation;
    if clock_set_at(other) <= clock_set_at(mine) {
        return;
    }
    let before = mine.mode.until;
    let mode = &mut docket.conversation.mode;
    if mode.is_by_hours() {
        (mode.reason, mode.actor) = (other.mode.reason, other.mode.actor.clone());
    }
    take_clock(docket, other);
    if docket.conversation.mode.until != before {
        conversations::tell_until(docket, &other.mode.actor);
    }
}

/// Whether somebody has set it, and when.
fn clock_set_at(conversation: &Conversation) -> (bool, Time) {
    let mode = &conversation.mode;
    let by_nobody = mode.is_by_hours() && mode.until.is_some();
    (!by_nobody, mode.changed_at.max(Time(conversation.memo.clock_at.unwrap_or_default())))
}

fn take_clock(docket: &mut Docket, other: &Conversation) {
    let (_, set_at) = clock_set_at(other);
    let conversation = &mut docket.conversation;
    conversation.mode.until = other.mode.until;
    conversation.memo.clock_at = Some(set_at.0);
    conversation.memo.is_clock_stopped = other.memo.is_clock_stopped;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::mode::{ModeState, Reason},
        flow::{desk::Who, mode_switch, play::Play, tests::ana},
    };

    #[test]
    fn who_was_given_back_after_the_other_was_taken_over_stays_with_the_assistant() {
        for reason in Reason::ALL {
            for (mine, other, stays) in [("agent:ana", 1_000, Mode::Human), ("token:7", -1_000, Mode::Ai)] {
                let mut play = Play::new();
                play.switches(Mode::Human);
                let who = Who { actor: mine.to_owned(), ..ana() };
                let request = mode_switch::Request { reason: Some(*reason), ..mode_switch::Request::by(who) };
                let give_back =
                    |docket: &mut _, policy: &_| mode_switch::apply(docket, policy, Mode::Ai, &request);
                play.step(give_back).expect("it can be done");
                let taken_at = play.now.plus_ms(other);
                let mut other = Play::new().conversation;
                other.mode = ModeState::initial(Mode::Human, Reason::AgentPhone, actor::PHONE, taken_at);
                play.step(|docket, policy| become_human(docket, policy, &other, None));
                let mode = &play.conversation.mode;
                assert_eq!((mode.mode, mode.changed_at), (stays, play.now.max(taken_at)), "{reason}");
            }
        }
    }

    #[test]
    fn where_people_have_both_the_clock_that_somebody_set_last_counts_and_hours_are_nobodys() {
        let at = |ms: i64| Play::new().now.plus_ms(ms);
        // Whether it was left by the hours; when it was taken over; until when; when the clock was changed since.
        type Stands = (bool, i64, Option<i64>, Option<i64>);
        let table: [(Stands, Stands, Option<i64>); 7] = [
            ((false, 0, Some(9_000), None), (false, 1_000, None, None), None),
            ((false, 1_000, Some(9_000), None), (false, 0, None, None), Some(9_000)),
            ((false, 0, Some(9_000), None), (false, 1_000, Some(5_000), None), Some(5_000)),
            ((false, 1_000, Some(9_000), None), (false, 0, None, Some(2_000)), None),
            ((true, 3_000, Some(9_000), None), (false, 0, None, None), None),
            ((false, 0, None, None), (true, 3_000, Some(9_000), None), None),
            // Somebody has acted there since.
            ((true, 3_000, Some(9_000), None), (true, 3_000, None, Some(4_000)), None),
        ];
        for (mine, other, until) in table {
            let stands = |(by_hours, since, until, clock_at): Stands| {
                let (reason, by) = if by_hours {
                    (Reason::Hours, actor::SYSTEM)
                } else {
                    (Reason::AgentButton, "agent:ana")
                };
                let mut conversation = Play::new().conversation;
                conversation.mode = ModeState::initial(Mode::Human, reason, by, at(since));
                conversation.mode.until = until.map(at);
                conversation.memo.clock_at = clock_at.map(|ms| at(ms).0);
                conversation
            };
            let mut play = Play::new();
            play.conversation = stands(mine);
            let other = stands(other);
            for _ in 0..2 {
                play.step(|docket, policy| become_human(docket, policy, &other, None));
                assert_eq!(play.conversation.mode.until, until.map(at), "{mine:?} {other:?}");
            }
            let is_by_hours = play.conversation.mode.is_by_hours() && other.mode.is_by_hours();
            assert_eq!(play.conversation.mode.is_by_hours(), is_by_hours, "{mine:?} {other:?}");
        }
    }

    #[test]
    fn a_clock_that_is_changed_is_told_to_the_other_one() {
        let mut play = Play::new();
        play.switches(Mode::Human);
        play.step(|docket, _| docket.conversation.memo.same_person = Some(Uuid::now_v7()));
        let until = |until| mode_switch::Request { until: Some(until), ..mode_switch::Request::by(ana()) };
        for (request, tells) in
            [(until(None), false), (until(Some(play.now.plus_ms(60_000))), true), (until(None), true)]
        {
            play.step(|docket, _| docket.conversation.memo.is_untold = false);
            play.step(|docket, policy| mode_switch::apply(docket, policy, Mode::Human, &request))
                .expect("done");
            assert_eq!(play.conversation.memo.is_untold, tells, "{request:?}");
        }
    }
}
