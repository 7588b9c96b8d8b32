//! Who goes first, between conversations. Within one conversation the order never changes.

use super::{time::Time, words::words};

words! {
    /// The lanes, best first.
    Lane {
        /// A person's message.
        Human = "human",
        /// A reply to someone who is there.
        Present = "present",
        /// A reply.
        Reply = "reply",
        /// What nobody asked for: follow-ups.
        Proactive = "proactive",
    }
}

/// Someone who wrote in this time is there.
const PRESENT_MS: i64 = 120_000;

impl Lane {
    /// How far a lane may go before the ones after it: the ageing that keeps every lane moving. A follow-up that is a
    /// minute older than a reply goes first.
    const fn head_start_ms(self) -> i64 {
        match self {
            Self::Human => 0,
            Self::Present => 20_000,
            Self::Reply => 40_000,
            Self::Proactive => 100_000,
        }
    }

    /// The lane of a reply to a contact who wrote last at `wrote_at`, and `recent` times in the last five minutes.
    pub const fn of_reply(wrote_at: Time, recent: u32, now: Time) -> Self {
        if now.since(wrote_at) <= PRESENT_MS || recent > 3 { Self::Present } else { Self::Reply }
    }

    /// The rank of something due at that time: lower goes first.
    pub const fn rank(self, due_at: Time) -> i64 {
        due_at.plus_ms(self.head_start_ms()).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_go_in_order_and_none_starves() {
        let now = Time(1_000_000);
        let ranks: Vec<i64> = Lane::ALL.iter().map(|lane| lane.rank(now)).collect();
        assert!(ranks.is_sorted(), "the same due time goes by lane");
        assert!(
            Lane::Proactive.rank(now) < Lane::Human.rank(now.plus_ms(100_001)),
            "what has waited long goes before any newcomer"
        );
    }

    #[test]
    fn a_follow_up_that_is_a_minute_older_goes_before_a_reply() {
        let due = Time(1_000_000);
        assert!(Lane::Proactive.rank(due) < Lane::Reply.rank(due.plus_ms(60_001)));
        assert!(Lane::Proactive.rank(due) > Lane::Reply.rank(due.plus_ms(59_999)));
        assert!(Lane::Reply.rank(due) < Lane::Present.rank(due.plus_ms(20_001)));
        assert!(Lane::Proactive.rank(Time(i64::MAX)) >= Lane::Human.rank(Time(i64::MAX)), "it never wraps");
    }

    #[test]
    fn who_wrote_just_now_or_often_is_present() {
        let now = Time(10_000_000);
        assert_eq!(Lane::of_reply(now.plus_ms(-120_000), 1, now), Lane::Present);
        assert_eq!(Lane::of_reply(now.plus_ms(-120_001), 3, now), Lane::Reply);
        assert_eq!(Lane::of_reply(now.plus_ms(-120_001), 4, now), Lane::Present);
        assert_eq!(Lane::of_reply(now.plus_ms(5_000), 1, now), Lane::Present, "a clock may be ahead");
    }
}
