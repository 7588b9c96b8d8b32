//! Follow-ups: when they are due, and whether one that is due may be sent.
//!
//! In: the policy, a due time, now. Out: a moment or a verdict. Who spoke last and who answers is judged by the step.

use super::{policy::Policy, time::Time};

/// A line of nothing else stands between the texts of a sequence.
const BETWEEN_TEXTS: &str = "---";

/// What is to be done with a follow-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Send it.
    Fire,
    /// Look again then.
    Wait(Time),
    /// Hold it back for good, for this reason.
    Withhold(&'static str),
}

/// Moves a due time out of quiet hours.
pub fn allowed_at(policy: &Policy, due_at: Time) -> Time {
    policy.quiet_hours.as_ref().map_or(due_at, |quiet| quiet.next_close(due_at))
}

/// The next follow-up of our own accord on our message of `sent_at`: when, and its words, unless the assistant is to write them.
/// None if none is wanted, or as many as are wanted have left in this silence.
pub fn automatic(policy: &Policy, sent_at: Time, already_sent: i32) -> Option<(Time, Option<String>)> {
    let step = usize::try_from(already_sent).ok()?;
    let after_ms = policy.follow_up_after_ms.get(step)?;
    Some((allowed_at(policy, sent_at.plus_ms(*after_ms)), text(policy, step)))
}

fn text(policy: &Policy, step: usize) -> Option<String> {
    let text = texts(policy.follow_up_text.as_deref()?).into_iter().nth(step)?;
    Some(text).filter(|text| !text.is_empty())
}

/// The texts of a sequence.
pub fn texts(all: &str) -> Vec<String> {
    let lines: Vec<&str> = all.lines().collect();
    let texts = lines.split(|line| line.trim() == BETWEEN_TEXTS);
    texts.map(|lines| lines.join("\n").trim().to_owned()).collect()
}

/// Whether a due follow-up may be fired now. Late comes before quiet: what is given up need not wait for the morning.
pub fn judge(policy: &Policy, due_at: Time, now: Time) -> Verdict {
    if now < due_at {
        return Verdict::Wait(due_at);
    }
    if is_late(policy, due_at, now) {
        return Verdict::Withhold("late");
    }
    match allowed_at(policy, now) {
        at if at > now => Verdict::Wait(at),
        _ => Verdict::Fire,
    }
}

/// Whether a follow-up could have been sent for longer than it may be late. Quiet hours don't count: one that was due
/// in the last second before them goes out in the morning, as does one that was due a second later. Nor does the time for
/// which the brake held it.
fn is_late(policy: &Policy, due_at: Time, now: Time) -> bool {
    let is_never_late = policy.follow_up_late_ms == 0;
    if is_never_late || policy.brake.latched.is_some() {
        return false;
    }
    let mut late_ms = 0_i64;
    let mut open_at = allowed_at(policy, policy.brake.free_from(due_at));
    while open_at < now && late_ms <= policy.follow_up_late_ms {
        let quiet_at = policy.quiet_hours.as_ref().map_or(now, |quiet| quiet.next_open(open_at).min(now));
        late_ms = late_ms.saturating_add(quiet_at.since(open_at));
        open_at = allowed_at(policy, quiet_at);
    }
    late_ms > policy.follow_up_late_ms
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::domain::hours::Hours;

    const MINUTE_MS: i64 = 60_000;
    const HOUR_MS: i64 = 60 * MINUTE_MS;

    /// Quiet from 21:00 to 08:00 in Singapore; an hour late at most; follows up after a day.
    fn policy() -> Policy {
        let quiet = Hours::parse("21:00-08:00 Asia/Singapore", "UTC").expect("these are hours");
        Policy {
            quiet_hours: Some(Arc::new(quiet)),
            follow_up_late_ms: HOUR_MS,
            follow_up_after_ms: vec![24 * HOUR_MS],
            ..Policy::default()
        }
    }

    /// A moment of Monday 2026-01-05 or the day after, Singapore time.
    fn at(text: &str) -> Time {
        let (day, time) = text.split_once(' ').expect("a day and a time");
        let date = if day == "Mon" { "2026-01-05" } else { "2026-01-06" };
        Time::parse(&format!("{date}T{time}+08:00")).expect("a moment")
    }

    #[test]
    fn a_due_time_leaves_quiet_hours_by_their_end() {
        let policy = policy();
        for (due, allowed) in [
            ("Mon 12:00:00", "Mon 12:00:00"),
            ("Mon 20:59:59", "Mon 20:59:59"),
            ("Mon 21:00:00", "Tue 08:00:00"),
            ("Tue 03:30:00", "Tue 08:00:00"),
            ("Tue 08:00:00", "Tue 08:00:00"),
        ] {
            assert_eq!(allowed_at(&policy, at(due)), at(allowed), "{due}");
        }
        let never_quiet = Policy { quiet_hours: None, ..policy };
        assert_eq!(allowed_at(&never_quiet, at("Mon 23:00:00")), at("Mon 23:00:00"));
    }

    #[test]
    fn a_silence_gets_as_many_follow_ups_as_are_wanted() {
        let when =
            |policy: &Policy, sent_at, already| automatic(policy, at(sent_at), already).map(|(at, _)| at);
        let policy = policy();
        assert_eq!(when(&policy, "Mon 12:00:00", 0), Some(at("Tue 12:00:00")));
        assert_eq!(when(&policy, "Mon 12:00:00", 1), None);
        let soon = Policy { follow_up_after_ms: vec![HOUR_MS, 2 * HOUR_MS], ..policy.clone() };
        assert_eq!(when(&soon, "Mon 20:30:00", 0), Some(at("Tue 08:00:00")), "moved to the morning");
        assert_eq!(when(&soon, "Mon 12:00:00", 1), Some(at("Mon 14:00:00")), "after the one before");
        assert_eq!(when(&soon, "Mon 12:00:00", 2), None);
        let off = Policy { follow_up_after_ms: Vec::new(), ..policy };
        assert_eq!(when(&off, "Mon 12:00:00", 0), None);
    }

    #[test]
    fn each_follow_up_of_a_sequence_has_its_own_words_or_the_assistants() {
        let words = |text: &str| {
            let follow_up_text = Some(text.to_owned());
            let policy = Policy { follow_up_after_ms: vec![HOUR_MS; 3], follow_up_text, ..policy() };
            [0, 1, 2].map(|already| {
                automatic(&policy, at("Mon 12:00:00"), already).and_then(|(_, text)| text).unwrap_or_default()
            })
        };
        assert_eq!(words("Still there?"), ["Still there?", "", ""], "the same words again would be nagging");
        assert_eq!(
            words("One\nline more\n---\n Two --- yes\n---\nThree"),
            ["One\nline more", "Two --- yes", "Three"]
        );
        assert_eq!(words("---\r\nTwo\r\n---"), ["", "Two", ""]);
    }

    #[test]
    fn a_follow_up_is_fired_in_time_put_off_at_night_and_dropped_when_late() {
        let policy = policy();
        let late = Verdict::Withhold("late");
        #[rustfmt::skip]
        let table = [
            // due             now             verdict
            ("Mon 12:00:00", "Mon 11:59:59", Verdict::Wait(at("Mon 12:00:00"))),
            ("Mon 12:00:00", "Mon 12:00:00", Verdict::Fire),
            ("Mon 12:00:00", "Mon 13:00:00", Verdict::Fire),
            ("Mon 12:00:00", "Mon 13:00:01", late),
            ("Mon 12:00:00", "Mon 23:00:00", late),
            ("Mon 22:00:00", "Mon 21:30:00", Verdict::Wait(at("Mon 22:00:00"))),
            ("Mon 22:00:00", "Mon 22:00:00", Verdict::Wait(at("Tue 08:00:00"))),
            ("Mon 22:00:00", "Tue 08:00:00", Verdict::Fire),
            ("Mon 22:00:00", "Tue 09:00:00", Verdict::Fire),
            ("Mon 22:00:00", "Tue 09:00:01", late),
            // Missed by a second in the evening: the night is no lateness.
            ("Mon 20:59:59", "Mon 21:00:00", Verdict::Wait(at("Tue 08:00:00"))),
            ("Mon 20:59:59", "Tue 08:00:00", Verdict::Fire),
            ("Mon 20:30:00", "Tue 08:30:00", Verdict::Fire),
            ("Mon 20:30:00", "Tue 08:30:01", late),
        ];
        for (due, now, verdict) in table {
            assert_eq!(judge(&policy, at(due), at(now)), verdict, "due {due}, now {now}");
        }
    }

    #[test]
    fn where_nothing_is_too_late_all_are_fired() {
        let policy = Policy { follow_up_late_ms: 0, ..policy() };
        for (due, now, verdict) in [
            ("Mon 12:00:00", "Mon 12:00:00", Verdict::Fire),
            ("Mon 12:00:00", "Tue 20:00:00", Verdict::Fire),
            ("Mon 12:00:00", "Mon 23:00:00", Verdict::Wait(at("Tue 08:00:00"))),
        ] {
            assert_eq!(judge(&policy, at(due), at(now)), verdict, "due {due}, now {now}");
        }
    }

    #[test]
    fn hours_that_are_always_quiet_put_off_for_good() {
        let quiet = Hours::parse("00:00-24:00", "UTC").expect("these are hours");
        let policy = Policy { quiet_hours: Some(Arc::new(quiet)), ..policy() };
        let Verdict::Wait(until) = judge(&policy, Time(0), Time(1)) else {
            panic!("there is no time to fire")
        };
        assert!(until > Time::parse("9999-01-01T00:00:00Z").expect("a moment"));
    }

    proptest! {
        #[test]
        fn what_waits_is_fired_when_it_looks_again_and_never_in_quiet_hours(
            due in 0_i64..400 * 24 * HOUR_MS,
            later in 0_i64..3 * 24 * HOUR_MS,
            from in 0_u32..24,
            to in 0_u32..24,
        ) {
            prop_assume!(from != to);
            let quiet = Hours::parse(&format!("{from}:00-{to}:00"), "Europe/Berlin").expect("these are hours");
            let policy = Policy { quiet_hours: Some(Arc::new(quiet.clone())), ..policy() };
            let (due, now) = (Time(due), Time(due + later));
            match judge(&policy, due, now) {
                Verdict::Fire => prop_assert!(!quiet.contains(now)),
                Verdict::Wait(until) => {
                    prop_assert!(until > now && quiet.contains(now));
                    prop_assert_eq!(judge(&policy, due, until), Verdict::Fire);
                }
                Verdict::Withhold(_) => prop_assert!(now.since(due) > HOUR_MS),
            }
        }
    }
}
