//! The clock of the database's server, as far as it can be known without asking: what it last said, and how long ago.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::{domain::time::Time, flow::provider::boot_time};

/// What was heard longer ago is not gone by: two clocks drift apart.
const HEARD: Duration = Duration::from_secs(60);
/// It does not go back by less than this: an answer was only longer on its way.
const JITTER_MS: i64 = 1_000;
/// What was longer on its way than this says nothing of the moment in which it came: whoever slept meanwhile would take long
/// ago for now.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// The clock.
#[derive(Default)]
pub(super) struct ServerClock(Mutex<Option<Heard>>);

struct Heard {
    server: Time,
    /// By a clock that goes on while the machine sleeps.
    at: Duration,
    given: Time,
}

impl ServerClock {
    /// The server has just said so, asked at that moment of [`boot_time`].
    pub(super) fn hear(&self, asked_at: Duration, server: Time) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if boot_time().saturating_sub(asked_at) > ON_ITS_WAY {
            return;
        }
        let given = heard.as_ref().map_or(server, |heard| heard.given);
        *heard = Some(Heard { server, at: boot_time(), given });
    }

    /// The moment there; None if it must be asked.
    pub(super) fn now(&self) -> Option<Time> {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let heard = heard.as_mut()?;
        let since = boot_time().checked_sub(heard.at).filter(|since| *since < HEARD)?;
        let now = heard.server.plus_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
        let is_jitter = now < heard.given && heard.given.since(now) < JITTER_MS;
        heard.given = if is_jitter { heard.given } else { now };
        Some(heard.given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_by_what_was_heard_and_back_only_if_the_server_does() {
        let clock = ServerClock::default();
        assert_eq!(clock.now(), None);
        clock.hear(boot_time(), Time(10_000));
        let first = clock.now().expect("heard");
        assert!(first >= Time(10_000) && first < Time(11_000));
        clock.hear(boot_time(), Time(9_990));
        assert!(clock.now().expect("heard") >= first, "an answer was on its way for longer");
        clock.hear(boot_time(), Time(1_000));
        assert!(clock.now().expect("heard") < Time(2_000), "the server's clock was set back");
        clock.hear(boot_time().saturating_sub(ON_ITS_WAY * 2), Time(900_000));
        assert!(clock.now().expect("heard") < Time(2_000), "it lay there for who knows how long");
        let old = Heard { server: Time(0), at: boot_time().saturating_sub(HEARD), given: Time(0) };
        assert_eq!(ServerClock(Mutex::new(Some(old))).now(), None);
    }
}
