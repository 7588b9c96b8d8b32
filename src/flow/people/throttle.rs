//! Rule: how often somebody may try to sign in. In: who tries, from where, and the moment. Out: go on, or wait so long.
//!
//! Counted on this instance alone and in memory: it keeps guessing slow, and decides nothing else.

use std::collections::HashMap;

use crate::domain::time::Time;

/// Tries are counted for so long from the first one on.
const WINDOW_MS: i64 = 15 * 60_000;

/// Tries for one e-mail address in that time.
const OF_EMAIL: u32 = 10;

/// Tries from one network address: many people may sit behind it.
const OF_ADDRESS: u32 = 60;

/// Names whose tries are counted at once.
const NAMES_MAX: usize = 10_000;

/// Counts tries.
#[derive(Debug)]
pub struct Throttle {
    emails: Counts,
    addresses: Counts,
}

impl Default for Throttle {
    fn default() -> Self {
        Self { emails: Counts::new(OF_EMAIL), addresses: Counts::new(OF_ADDRESS) }
    }
}

impl Throttle {
    /// Counts a try before it is made, so that many at once count as many. Refused: how many milliseconds to wait. Without
    /// an e-mail address, only where it comes from counts; and the other way round.
    pub fn admit(&mut self, email: Option<&str>, address: Option<&str>, now: Time) -> Result<(), i64> {
        let wait = |counts: &Counts, name: Option<&str>| name.map_or(0, |name| counts.wait(name, now));
        match wait(&self.emails, email).max(wait(&self.addresses, address)) {
            0 => {
                if let Some(email) = email {
                    self.emails.count(email, now);
                }
                if let Some(address) = address {
                    self.addresses.count(address, now);
                }
                Ok(())
            }
            ms => Err(ms),
        }
    }

    /// It was them: what they mistyped before is forgotten, and this try of their address with it.
    pub fn forgive(&mut self, email: Option<&str>, address: Option<&str>) {
        if let Some(email) = email {
            self.emails.tries.remove(email);
        }
        if let Some(tries) = address.and_then(|address| self.addresses.tries.get_mut(address)) {
            tries.count = tries.count.saturating_sub(1);
        }
    }
}

#[derive(Debug)]
struct Counts {
    most: u32,
    tries: HashMap<String, Tries>,
}

#[derive(Debug, Clone, Copy)]
struct Tries {
    ends_at: Time,
    count: u32,
}

impl Counts {
    fn new(most: u32) -> Self {
        Self { most, tries: HashMap::new() }
    }

    fn wait(&self, name: &str, now: Time) -> i64 {
        let tries = self.tries.get(name).filter(|tries| tries.ends_at > now && tries.count >= self.most);
        tries.map_or(0, |tries| tries.ends_at.since(now))
    }

    fn count(&mut self, name: &str, now: Time) {
        if self.tries.len() >= NAMES_MAX && !self.tries.contains_key(name) {
            self.make_room(now);
        }
        let fresh = Tries { ends_at: now.plus_ms(WINDOW_MS), count: 0 };
        let tries = self.tries.entry(name.to_owned()).or_insert(fresh);
        if tries.ends_at <= now {
            *tries = fresh;
        }
        tries.count += 1;
    }

    /// Those whose time is over go first, then those that have tried least: a flood of new names does not wash away the
    /// one that it is meant to hide.
    fn make_room(&mut self, now: Time) {
        self.tries.retain(|_, tries| tries.ends_at > now);
        let mut least = 1;
        while self.tries.len() >= NAMES_MAX {
            self.tries.retain(|_, tries| tries.count > least);
            least += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(1_767_600_000_000);

    fn tries(throttle: &mut Throttle, email: &str, address: &str, times: u32, now: Time) -> u32 {
        let admitted = (0..times).filter(|_| throttle.admit(Some(email), Some(address), now).is_ok());
        u32::try_from(admitted.count()).expect("few")
    }

    #[test]
    fn an_address_has_ten_tries_in_a_quarter_of_an_hour() {
        let mut throttle = Throttle::default();
        assert_eq!(tries(&mut throttle, "ana", "1", 20, NOW), OF_EMAIL);
        let later = NOW.plus_ms(60_000);
        assert_eq!(throttle.admit(Some("ana"), Some("2"), later), Err(WINDOW_MS - 60_000), "from wherever");
        assert_eq!(throttle.admit(Some("ben"), Some("1"), later), Ok(()), "others are not held up");
        assert_eq!(tries(&mut throttle, "ana", "1", 20, NOW.plus_ms(WINDOW_MS)), OF_EMAIL);
    }

    #[test]
    fn whoever_tries_many_names_from_one_place_is_held_up_there() {
        let mut throttle = Throttle::default();
        let admitted = (0..200).filter(|n| tries(&mut throttle, &n.to_string(), "1", 1, NOW) == 1).count();
        assert_eq!(admitted, OF_ADDRESS as usize);
        assert!(throttle.admit(None, Some("1"), NOW).is_err(), "links too");
        assert!(throttle.admit(Some("ana"), None, NOW).is_ok());
    }

    #[test]
    fn whoever_gets_in_begins_anew() {
        let mut throttle = Throttle::default();
        for _ in 0..100 {
            assert_eq!(tries(&mut throttle, "ana", "1", 5, NOW), 5);
            throttle.forgive(Some("ana"), Some("1"));
            for _ in 0..4 {
                throttle.forgive(None, Some("1"));
            }
        }
    }

    #[test]
    fn a_flood_of_names_does_not_free_the_one_that_is_held() {
        let mut throttle = Throttle::default();
        tries(&mut throttle, "ana", "1", OF_EMAIL, NOW);
        for n in 0..3 * NAMES_MAX {
            tries(&mut throttle, &format!("name {n}"), &n.to_string(), 1, NOW);
        }
        assert!(throttle.admit(Some("ana"), Some("2"), NOW).is_err());
        assert!(throttle.emails.tries.len() <= NAMES_MAX && throttle.addresses.tries.len() <= NAMES_MAX);
    }
}
