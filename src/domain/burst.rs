//! Several messages in a row: when they are answered, and when a newer one makes the answer start again.
//!
//! In: the policy and the burst's times, which the conversation's memo keeps. Out: a moment, or yes or no.

use super::{
    policy::{BurstPolicy, Policy},
    time::Time,
};

/// After this many restarts a generation is left to finish, so that a steady writer still gets an answer.
const RESTARTS_MAX: i32 = 3;

/// When a burst may be answered. `waiting` is how many messages it has.
pub fn ripe_at(policy: &Policy, first_at: Time, last_at: Time, waiting: usize) -> Time {
    ripe_within(policy, first_at, last_at, waiting, policy.burst_max_ms)
}

/// When a burst may be answered whose generation a newer message has stopped.
///
/// The quiet window applies again, since the contact is typing. Each restart moves its limit out by an eighth of the
/// longest wait, so that what comes next is taken along instead of using up another restart; not by more, since the
/// answer to somebody who never pauses should be there within twice the longest wait.
pub fn ripe_again_at(policy: &Policy, first_at: Time, last_at: Time, waiting: usize, restarts: i32) -> Time {
    let extra = policy.burst_max_ms / 8 * i64::from(restarts.clamp(0, RESTARTS_MAX));
    ripe_within(policy, first_at, last_at, waiting, policy.burst_max_ms.saturating_add(extra))
}

fn ripe_within(policy: &Policy, first_at: Time, last_at: Time, waiting: usize, longest_ms: i64) -> Time {
    match policy.burst {
        BurstPolicy::Queue => first_at,
        BurstPolicy::Collect | BurstPolicy::Interrupt => {
            let quiet_ms = if waiting >= policy.burst_max_messages { 0 } else { policy.burst_quiet_ms };
            last_at.plus_ms(quiet_ms).min(first_at.plus_ms(longest_ms))
        }
    }
}

/// Whether a message that arrives at `now` during a generation, or before the first part of the reply is claimed,
/// restarts it.
pub fn restarts(policy: &Policy, restarts_so_far: i32, burst_first_at: Time, now: Time) -> bool {
    match policy.burst {
        BurstPolicy::Interrupt => {
            restarts_so_far < RESTARTS_MAX
                && now.since(burst_first_at) < policy.burst_max_ms.saturating_mul(2)
        }
        BurstPolicy::Collect | BurstPolicy::Queue => false,
    }
}

/// Whether a turn begun now is the last one allowed: a newer message no longer restarts it.
pub fn is_final(policy: &Policy, restarts_so_far: i32, burst_first_at: Time, now: Time) -> bool {
    !restarts(policy, restarts_so_far, burst_first_at, now)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn policy(burst: BurstPolicy) -> Policy {
        Policy {
            burst,
            burst_quiet_ms: 2_000,
            burst_max_ms: 10_000,
            burst_max_messages: 5,
            ..Policy::default()
        }
    }

    #[test]
    fn a_burst_is_ripe_when_quiet_or_old_or_full() {
        use BurstPolicy::{Collect, Interrupt, Queue};
        #[rustfmt::skip]
        let table = [
            // policy    first  last    waiting  ripe
            (Interrupt,  0,     0,      1,       2_000),
            (Interrupt,  0,     1_500,  2,       3_500),
            (Interrupt,  0,     9_000,  4,       10_000),
            (Interrupt,  0,     1_500,  5,       1_500),
            (Interrupt,  0,     1_500,  9,       1_500),
            (Collect,    500,   500,    1,       2_500),
            (Collect,    500,   9_900,  4,       10_500),
            (Collect,    500,   4_000,  5,       4_000),
            (Queue,      700,   9_000,  3,       700),
        ];
        for (burst, first, last, waiting, ripe) in table {
            let at = ripe_at(&policy(burst), Time(first), Time(last), waiting);
            assert_eq!(at, Time(ripe), "{burst}: {first} to {last}, {waiting} waiting");
        }
    }

    #[test]
    fn a_restart_waits_for_quiet_again_but_not_for_ever() {
        #[rustfmt::skip]
        let table = [
            // last    restarts  ripe
            (3_000,    1,        5_000),
            (9_000,    0,        10_000),
            (9_500,    1,        11_250),
            (10_900,   2,        12_500),
            (13_700,   3,        13_750),
            (13_700,   99,       13_750),
        ];
        let policy = policy(BurstPolicy::Interrupt);
        for (last, restarts, ripe) in table {
            let at = ripe_again_at(&policy, Time(0), Time(last), 2, restarts);
            assert_eq!(at, Time(ripe), "newest at {last}, {restarts} restarts");
        }
    }

    #[test]
    fn only_interrupt_restarts_and_only_so_often_and_so_long() {
        use BurstPolicy::{Collect, Interrupt, Queue};
        #[rustfmt::skip]
        let table = [
            // policy    restarts  now      restarts again
            (Interrupt,  0,        5_000,   true),
            (Interrupt,  2,        19_999,  true),
            (Interrupt,  3,        5_000,   false),
            (Interrupt,  0,        20_000,  false),
            (Collect,    0,        1,       false),
            (Queue,      0,        1,       false),
        ];
        for (burst, so_far, now, again) in table {
            let policy = policy(burst);
            assert_eq!(restarts(&policy, so_far, Time(0), Time(now)), again, "{burst}, {so_far}, {now}");
            assert_eq!(is_final(&policy, so_far, Time(0), Time(now)), !again, "{burst}, {so_far}, {now}");
        }
    }

    /// A reply: when it was committed, and up to which message it answers.
    struct Committed {
        at: Time,
        answers: usize,
    }

    /// A contact writes at the given times, a model takes `generation_ms` each time.
    fn chat(policy: &Policy, wrote: &[Time], generation_ms: i64) -> Vec<Committed> {
        let mut replies: Vec<Committed> = Vec::new();
        let mut now = Time(0);
        let mut answered = 0;
        while answered < wrote.len() {
            let first_at = wrote[answered];
            let mut restarted = 0;
            now = now.max(first_at);
            loop {
                let written = wrote.partition_point(|at| *at <= now);
                let (last_at, waiting) = (wrote[written - 1], written - answered);
                let ripe = match restarted {
                    0 => ripe_at(policy, first_at, last_at, waiting),
                    _ => ripe_again_at(policy, first_at, last_at, waiting, restarted),
                };
                if ripe > now {
                    now = wrote.get(written).map_or(ripe, |next| ripe.min(*next));
                    continue;
                }
                let last_allowed = is_final(policy, restarted, first_at, now);
                let done_at = now.plus_ms(generation_ms);
                match wrote.get(written).filter(|at| **at <= done_at) {
                    Some(newer) if restarts(policy, restarted, first_at, *newer) => {
                        assert!(!last_allowed, "the last one allowed is not restarted");
                        restarted += 1;
                        now = *newer;
                    }
                    _ => {
                        answered = if policy.burst == BurstPolicy::Queue { answered + 1 } else { written };
                        now = done_at;
                        replies.push(Committed { at: now, answers: answered });
                        break;
                    }
                }
            }
        }
        replies
    }

    #[test]
    fn a_contact_who_never_pauses_is_answered_within_twice_the_longest_wait() {
        // Case K12: quiet 2 s, at most 10 s, the model takes 3 s, a text a second for 40 s.
        let policy = Policy { burst_max_messages: 20, ..policy(BurstPolicy::Interrupt) };
        let wrote: Vec<Time> = (0..40).map(|n| Time(n * 1_000)).collect();
        let replies = chat(&policy, &wrote, 3_000);
        assert!(replies[0].at < Time(20_000), "the first reply comes at {:?}", replies[0].at);
        assert_eq!(replies.last().map(|reply| reply.answers), Some(40));
    }

    #[test]
    fn three_texts_in_a_row_get_one_answer() {
        // Case K10.
        let wrote = [Time(0), Time(1_000), Time(2_000)];
        let replies = chat(&policy(BurstPolicy::Interrupt), &wrote, 500);
        assert_eq!(replies.len(), 1);
        assert_eq!(replies[0].at, Time(4_500));
    }

    proptest! {
        #[test]
        fn burst_rules_never_starve(
            burst in prop::sample::select(BurstPolicy::ALL),
            quiet_ms in 0_i64..15_000,
            max_ms in 0_i64..30_000,
            messages_max in 1_usize..30,
            every_ms in 50_i64..20_000,
            texts in 1_usize..200,
            generation_part in 0.0..3.0_f64,
        ) {
            let policy = Policy {
                burst,
                burst_quiet_ms: quiet_ms,
                burst_max_ms: max_ms,
                burst_max_messages: messages_max,
                ..Policy::default()
            };
            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "roughly so long")]
            let generation_ms = (max_ms as f64 * generation_part) as i64;
            let wrote: Vec<Time> = (0..).take(texts).map(|n: i64| Time(n * every_ms)).collect();
            let replies = chat(&policy, &wrote, generation_ms);
            let longest = 2 * max_ms + generation_ms;
            prop_assert!(replies[0].at.0 <= longest, "{:?} is later than {longest}", replies[0].at);
            prop_assert_eq!(replies.last().map(|reply| reply.answers), Some(texts), "every text is covered");
        }

        #[test]
        fn ripe_is_never_before_the_first_nor_after_the_longest_wait(
            burst in prop::sample::select(BurstPolicy::ALL),
            first in 0_i64..1_000_000,
            span in 0_i64..1_000_000,
            waiting in 1_usize..40,
            restarts in 0_i32..9,
        ) {
            let policy = policy(burst);
            let (first, last) = (Time(first), Time(first + span));
            let once = ripe_at(&policy, first, last, waiting);
            let again = ripe_again_at(&policy, first, last, waiting, restarts);
            prop_assert!(first <= once && once <= first.plus_ms(policy.burst_max_ms));
            prop_assert!(once <= again && again < first.plus_ms(2 * policy.burst_max_ms));
        }
    }
}
