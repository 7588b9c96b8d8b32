//! How long to wait before trying again.
//!
//! In: which attempt failed and what the other side asked for. Out: milliseconds. The dice are the caller's.

/// Longest wait between attempts of a send or of a generation, unless the other side asks for more.
pub(super) const CAP_MS: i64 = 60_000;

/// Wait before the next attempt; `attempt` is the one that just failed, from 1.
///
/// The base doubles with each attempt, up to `cap_ms`; `jitter` (0.0 to 1.0) picks from the upper half of it, so that
/// what failed together does not come back together. `at_least_ms`, a Retry-After, is honoured even above the cap.
pub fn wait_ms(base_ms: i64, attempt: i32, cap_ms: i64, jitter: f64, at_least_ms: Option<i64>) -> i64 {
    // Beyond 62 doublings any base is above any cap.
    let doublings = attempt.saturating_sub(1).clamp(0, 62);
    let whole = base_ms.max(0).saturating_mul(1 << doublings).min(cap_ms.max(0));
    let half = whole / 2;
    let wait = half + share(whole - half, jitter);
    wait.max(at_least_ms.unwrap_or(0))
}

/// That part of the whole; a fraction outside 0.0 to 1.0 is taken for the nearest end.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a share of a wait is rough")]
pub(super) fn share(whole: i64, fraction: f64) -> i64 {
    // What is not a number becomes 0 by the cast; rounding must not exceed the whole.
    ((whole as f64 * fraction.clamp(0.0, 1.0)) as i64).min(whole)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_wait_doubles_up_to_the_cap_and_never_undercuts_what_was_asked_for() {
        #[rustfmt::skip]
        let table = [
            // base   attempt   cap      jitter    at least         wait
            (1_000,   1,        60_000,  0.0,      None,            500),
            (1_000,   1,        60_000,  1.0,      None,            1_000),
            (1_000,   2,        60_000,  0.5,      None,            1_500),
            (1_000,   3,        60_000,  1.0,      None,            4_000),
            (1_000,   7,        60_000,  1.0,      None,            60_000),
            (1_000,   7,        60_000,  0.0,      None,            30_000),
            (1_000,   1,        60_000,  0.0,      Some(700),       700),
            (1_000,   1,        60_000,  1.0,      Some(700),       1_000),
            (1_000,   1,        60_000,  0.5,      Some(120_000),   120_000),
            (1_000,   1,        60_000,  0.0,      Some(-5),        500),
            (1_000,   0,        60_000,  1.0,      None,            1_000),
            (1_000,   -4,       60_000,  1.0,      None,            1_000),
            (0,       5,        60_000,  1.0,      None,            0),
            (1_000,   5,        60_000,  f64::NAN, None,            8_000),
            (1_000,   5,        60_000,  7.0,      None,            16_000),
            (i64::MAX, i32::MAX, i64::MAX, 1.0,    None,            i64::MAX),
            (i64::MIN, i32::MIN, i64::MIN, 1.0,    None,            0),
        ];
        for (base, attempt, cap, jitter, at_least, wait) in table {
            assert_eq!(
                wait_ms(base, attempt, cap, jitter, at_least),
                wait,
                "{base} {attempt} {jitter} {at_least:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_wait_lies_between_half_and_whole(
            base in 1_i64..1_000_000_000_000,
            attempt in any::<i32>(),
            cap in 1_i64..1_000_000_000_000,
            jitter in 0.0..1.0_f64,
        ) {
            let longest = wait_ms(base, attempt, cap, 1.0, None);
            let wait = wait_ms(base, attempt, cap, jitter, None);
            prop_assert!((longest / 2..=longest).contains(&wait));
            prop_assert!(longest <= cap);
            prop_assert!(longest >= base.min(cap));
        }

        #[test]
        fn a_later_attempt_never_waits_less(
            base in 0_i64..1_000_000,
            attempt in 1_i32..i32::MAX,
            jitter in 0.0..1.0_f64,
        ) {
            let wait = |attempt| wait_ms(base, attempt, 60_000, jitter, None);
            prop_assert!(wait(attempt) <= wait(attempt + 1));
        }
    }
}
