//! How often the gateway is asked for one thing. In: a caller that wants to ask. Out: its place in time, once it has come; or
//! that too many have one before it.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Longest wait for a place.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Places in time, so far apart.
#[derive(Debug)]
pub(super) struct Spacing {
    apart: Duration,
    next: Mutex<Option<Instant>>,
}

impl Spacing {
    pub(super) const fn apart(apart: Duration) -> Self {
        Self { apart, next: Mutex::new(None) }
    }

    /// Waits for the next place; false: it is too far away.
    pub(super) async fn wait(&self) -> bool {
        let Some(at) = self.take(Instant::now()) else { return false };
        tokio::time::sleep_until(at).await;
        true
    }

    fn take(&self, now: Instant) -> Option<Instant> {
        // A panic elsewhere cannot leave it half changed.
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let at = next.map_or(now, |next| next.max(now));
        if at - now > WAIT_MAX {
            return None;
        }
        *next = Some(at + self.apart);
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_so_far_apart_and_the_last_is_not_too_far_away() {
        let now = Instant::now();
        let after = |ms| now + Duration::from_millis(ms);
        let places = Spacing::apart(Duration::from_millis(200));
        let taken: Vec<_> = (0..52).map(|_| places.take(now)).collect();
        assert_eq!(taken[..3], [Some(now), Some(after(200)), Some(after(400))]);
        assert_eq!(taken[50..], [Some(after(10_000)), None], "nobody waits longer");
        assert_eq!(places.take(after(200)), Some(after(10_200)), "who was sent away has left no gap");
        assert_eq!(places.take(after(60_000)), Some(after(60_000)), "nobody waits for what is past");
    }
}
