//! Rule: how often somebody may try to sign in. In: who tries, from where, and the moment. Out: continue, or wait this long.
//!
//! Counted on this instance alone and in memory: it keeps guessing slow, and decides nothing else.

use std::collections::HashMap;

use crate::domain::time::Time;

/// How long attempts are counted from the first one on.
const WINDOW_MS: i64 = 15 * 60_000;

/// Attempts for one e-mail address from one network address in that time.
const OF_BOTH: u32 = 10;

/// Attempts for one e-mail address, from anywhere: more than somebody who means to keep its owner out makes from one place.
const OF_EMAIL: u32 = 100;

/// Attempts from one network address: many people may sit behind it.
const OF_ADDRESS: u32 = 60;

/// Links tried from one network address. Nobody guesses one, so that this keeps a flood from the database and nothing
/// else: anyone who has a link comes in where passwords are refused.
const OF_LINKS: u32 = 6_000;

/// Names whose attempts are counted at once.
const NAMES_MAX: usize = 10_000;

/// Counts attempts.
#[derive(Debug)]
pub struct Throttle {
    both: Counts,
    emails: Counts,
    addresses: Counts,
    links: Counts,
}

impl Default for Throttle {
    fn default() -> Self {
        Self {
            both: Counts::new(OF_BOTH),
            emails: Counts::new(OF_EMAIL),
            addresses: Counts::new(OF_ADDRESS),
            links: Counts::new(OF_LINKS),
        }
    }
}

impl Throttle {
    /// Counts a try by password before it is made, so that many at once count as many. Refused: how many milliseconds to
    /// wait.
    pub fn admit(&mut self, email: &str, address: Option<&str>, now: Time) -> Result<(), i64> {
        let both = both(email, address);
        let mut asked =
            [(&mut self.both, Some(&*both)), (&mut self.emails, Some(email)), (&mut self.addresses, address)];
        let wait = asked.iter().filter_map(|(counts, name)| Some(counts.wait((*name)?, now))).max();
        if let Some(ms) = wait.filter(|ms| *ms > 0) {
            return Err(ms);
        }
        for (counts, name) in &mut asked {
            if let Some(name) = name {
                counts.count(name, now);
            }
        }
        Ok(())
    }

    /// The same of a try by link.
    pub fn admit_link(&mut self, address: Option<&str>, now: Time) -> Result<(), i64> {
        let Some(address) = address else { return Ok(()) };
        let wait_ms = self.links.wait(address, now);
        if wait_ms > 0 {
            return Err(wait_ms);
        }
        self.links.count(address, now);
        Ok(())
    }

    /// It was them, with their password: what they mistyped before is forgotten, and this try of their address with it.
    pub fn forgive(&mut self, email: &str, address: Option<&str>) {
        self.both.tries.remove(&both(email, address));
        self.emails.tries.remove(email);
        if let Some(tries) = address.and_then(|address| self.addresses.tries.get_mut(address)) {
            tries.count = tries.count.saturating_sub(1);
        }
    }
}

/// An e-mail address as it is tried from one place.
fn both(email: &str, address: Option<&str>) -> String {
    format!("{email}\n{}", address.unwrap_or_default())
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

impl Tries {
    /// Never for longer than they are counted: a clock that was set back must not keep anybody out for as long.
    fn is_counting(&self, now: Time) -> bool {
        (1..=WINDOW_MS).contains(&self.ends_at.since(now))
    }
}

impl Counts {
    fn new(most: u32) -> Self {
        Self { most, tries: HashMap::new() }
    }

    fn wait(&self, name: &str, now: Time) -> i64 {
        let tries = self.tries.get(name).filter(|tries| tries.is_counting(now) && tries.count >= self.most);
        tries.map_or(0, |tries| tries.ends_at.since(now))
    }

    fn count(&mut self, name: &str, now: Time) {
        if self.tries.len() >= NAMES_MAX && !self.tries.contains_key(name) {
            self.make_room(now);
        }
        let fresh = Tries { ends_at: now.plus_ms(WINDOW_MS), count: 0 };
        let tries = self.tries.entry(name.to_owned()).or_insert(fresh);
        if !tries.is_counting(now) {
            *tries = fresh;
        }
        tries.count += 1;
    }

    /// Those whose time is over go first, then those that have tried least: a flood of new names does not wash away the
    /// one that it is meant to hide.
    fn make_room(&mut self, now: Time) {
        self.tries.retain(|_, tries| tries.is_counting(now));
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
        let admitted = (0..times).filter(|_| throttle.admit(email, Some(address), now).is_ok());
        u32::try_from(admitted.count()).expect("few")
    }

    #[test]
    fn an_address_has_ten_tries_in_a_quarter_of_an_hour_from_each_place() {
        let mut throttle = Throttle::default();
        assert_eq!(tries(&mut throttle, "ana", "1", 20, NOW), OF_BOTH);
        let later = NOW.plus_ms(60_000);
        assert_eq!(throttle.admit("ana", Some("1"), later), Err(WINDOW_MS - 60_000));
        assert_eq!(throttle.admit("ben", Some("1"), later), Ok(()), "others are not held up");
        assert_eq!(throttle.admit("ana", Some("2"), later), Ok(()), "nor she herself, elsewhere");
        assert_eq!(tries(&mut throttle, "ana", "1", 20, NOW.plus_ms(WINDOW_MS)), OF_BOTH);
    }

    #[test]
    fn a_clock_that_was_set_back_keeps_nobody_out_for_as_long() {
        let mut throttle = Throttle::default();
        tries(&mut throttle, "ana", "1", OF_BOTH, NOW);
        assert_eq!(throttle.admit("ana", Some("1"), NOW.plus_ms(-1)), Ok(()), "longer than anybody waits");
        assert_eq!(tries(&mut throttle, "ana", "1", 20, NOW.plus_ms(-1)), OF_BOTH - 1, "counted anew");
    }

    #[test]
    fn whoever_tries_one_name_from_many_places_is_held_up_too() {
        let mut throttle = Throttle::default();
        let admitted = (0..200).filter(|n| tries(&mut throttle, "ana", &n.to_string(), 1, NOW) == 1).count();
        assert_eq!(admitted, OF_EMAIL as usize);
        assert!(throttle.admit("ana", None, NOW).is_err());
    }

    #[test]
    fn whoever_tries_many_names_from_one_place_is_held_up_there() {
        let mut throttle = Throttle::default();
        let admitted = (0..200).filter(|n| tries(&mut throttle, &n.to_string(), "1", 1, NOW) == 1).count();
        assert_eq!(admitted, OF_ADDRESS as usize);
        assert!(throttle.admit("ana", None, NOW).is_ok());
        assert_eq!(throttle.admit_link(Some("1"), NOW), Ok(()), "nobody guesses a link");
    }

    #[test]
    fn a_flood_of_links_from_one_place_is_held_up_and_keeps_no_password_back() {
        let mut throttle = Throttle::default();
        let admitted = (0..2 * OF_LINKS).filter(|_| throttle.admit_link(Some("1"), NOW).is_ok()).count();
        assert_eq!(admitted, OF_LINKS as usize);
        assert!(throttle.admit_link(Some("2"), NOW).is_ok() && throttle.admit("ana", Some("1"), NOW).is_ok());
    }

    #[test]
    fn whoever_gets_in_begins_anew() {
        let mut throttle = Throttle::default();
        for _ in 0..100 {
            assert_eq!(tries(&mut throttle, "ana", "1", 5, NOW), 5);
            for _ in 0..5 {
                throttle.forgive("ana", Some("1"));
            }
        }
    }

    #[test]
    fn a_flood_of_names_does_not_free_the_one_that_is_held() {
        let mut throttle = Throttle::default();
        tries(&mut throttle, "ana", "1", OF_BOTH, NOW);
        for n in 0..3 * NAMES_MAX {
            tries(&mut throttle, &format!("name {n}"), &n.to_string(), 1, NOW);
        }
        assert!(throttle.admit("ana", Some("1"), NOW).is_err());
        for counts in [&throttle.both, &throttle.emails, &throttle.addresses] {
            assert!(counts.tries.len() <= NAMES_MAX);
        }
    }
}
