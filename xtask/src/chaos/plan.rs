//! What is done to whom and when: a plan dealt from a seed before anything starts, so that the same seed gives the same
//! faults at the same moments.
//!
//! In: seed, number of faults, length. Out: faults by time, none on a target that still has one.

use std::{fmt, time::Duration};

/// So many instances run.
pub(super) const INSTANCES: usize = 3;
/// Of which so many may be down, frozen or cut off at once: the load goes on through the others.
const HARMED_MAX: usize = 2;
/// A target is left alone for so long after a fault.
const REST_MS: u64 = 1_000;
/// How often a place is looked for in time before a fault is put where it falls.
const TRIES: usize = 200;

/// What an instance is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Link {
    /// PostgreSQL.
    Postgres,
    /// Redis.
    Redis,
    /// The gateway.
    Gateway,
}

/// One thing that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// An instance is killed and started again.
    Kill,
    /// An instance is asked to end and started again.
    Restart,
    /// An instance stands still for less than any lease.
    FreezeShort,
    /// For longer than the lease of a conversation.
    FreezeLong,
    /// For longer than the lease of a send.
    FreezeVeryLong,
    /// The connections of one instance break, and no new ones are taken.
    Cut(Link),
    /// Nothing passes for less than any time limit, then everything.
    StallShort(Link),
    /// Nothing passes for longer than time limits and leases.
    StallLong(Link),
    /// Redis forgets everything.
    RedisFlush,
    /// Redis is killed and started again, empty.
    RedisKill,
    /// Redis stands still.
    RedisFreeze,
    /// Redis refuses to write.
    RedisReadOnly,
    /// PostgreSQL is killed and started again.
    PostgresKill,
    /// PostgreSQL stands still.
    PostgresFreeze,
    /// PostgreSQL ends every connection, and starts again.
    PostgresRestart,
    /// The gateway is asked too often, it says.
    Gateway429,
    /// The gateway fails, some messages of which it has taken.
    Gateway500,
    /// The gateway takes some messages, and never answers.
    GatewayHang,
    /// The gateway takes some messages, and breaks the connection.
    GatewayLosesAnswer,
    /// The gateway breaks the connection, and has taken nothing.
    GatewayLosesMessage,
    /// The gateway takes some messages, and answers nonsense.
    GatewayNonsense,
    /// The model fails.
    Model500,
    /// The model does not answer.
    ModelHang,
    /// The model breaks off in the middle.
    ModelBreaks,
    /// The model takes its time.
    ModelSlow,
}

/// All of them: one deck.
const DECK: [Kind; 31] = [
    Kind::Kill,
    Kind::Restart,
    Kind::FreezeShort,
    Kind::FreezeLong,
    Kind::FreezeVeryLong,
    Kind::Cut(Link::Postgres),
    Kind::Cut(Link::Redis),
    Kind::Cut(Link::Gateway),
    Kind::StallShort(Link::Postgres),
    Kind::StallShort(Link::Redis),
    Kind::StallShort(Link::Gateway),
    Kind::StallLong(Link::Postgres),
    Kind::StallLong(Link::Redis),
    Kind::StallLong(Link::Gateway),
    Kind::RedisFlush,
    Kind::RedisKill,
    Kind::RedisFreeze,
    Kind::RedisReadOnly,
    Kind::PostgresKill,
    Kind::PostgresFreeze,
    Kind::PostgresRestart,
    Kind::Gateway429,
    Kind::Gateway500,
    Kind::GatewayHang,
    Kind::GatewayLosesAnswer,
    Kind::GatewayLosesMessage,
    Kind::GatewayNonsense,
    Kind::Model500,
    Kind::ModelHang,
    Kind::ModelBreaks,
    Kind::ModelSlow,
];

/// What a fault keeps from being hit by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Instance(usize),
    Redis,
    Postgres,
    Gateway,
    Model,
}

/// A fault in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Planned {
    /// From the beginning of the load.
    pub(super) at: Duration,
    /// Until it is healed.
    pub(super) lasts: Duration,
    /// What.
    pub(super) kind: Kind,
    /// Which instance, for what is done to one.
    pub(super) instance: usize,
    /// How many requests, for what is done to requests.
    pub(super) count: usize,
}

impl Kind {
    const fn harms_instance(self) -> bool {
        matches!(
            self,
            Self::Kill
                | Self::Restart
                | Self::FreezeShort
                | Self::FreezeLong
                | Self::FreezeVeryLong
                | Self::Cut(_)
                | Self::StallShort(_)
                | Self::StallLong(_)
        )
    }

    fn target(self, instance: usize) -> Target {
        match self {
            kind if kind.harms_instance() => Target::Instance(instance),
            Self::RedisFlush | Self::RedisKill | Self::RedisFreeze | Self::RedisReadOnly => Target::Redis,
            Self::PostgresKill | Self::PostgresFreeze | Self::PostgresRestart => Target::Postgres,
            Self::Model500 | Self::ModelHang | Self::ModelBreaks | Self::ModelSlow => Target::Model,
            _ => Target::Gateway,
        }
    }

    /// Shortest and longest time until it is healed.
    const fn lasts_ms(self) -> (u64, u64) {
        match self {
            Self::Kill => (100, 1_500),
            Self::Restart | Self::PostgresRestart | Self::RedisFlush => (0, 1),
            // Below the second within which a send must begin, and above it.
            Self::FreezeShort => (300, 1_500),
            Self::FreezeLong => (3_500, 5_000),
            Self::FreezeVeryLong => (9_000, 11_000),
            Self::Cut(_) => (300, 2_000),
            // Below the gateway's time limit: what was held back still arrives in time.
            Self::StallShort(_) => (200, 1_200),
            Self::StallLong(_) => (3_200, 5_000),
            Self::RedisKill | Self::PostgresKill => (100, 2_000),
            Self::RedisFreeze | Self::RedisReadOnly => (1_000, 4_000),
            Self::PostgresFreeze => (500, 4_000),
            Self::Gateway429 => (500, 2_000),
            Self::Model500 | Self::ModelSlow => (500, 3_000),
            Self::Gateway500
            | Self::GatewayHang
            | Self::GatewayLosesAnswer
            | Self::GatewayLosesMessage
            | Self::GatewayNonsense
            | Self::ModelHang
            | Self::ModelBreaks => (500, 501),
        }
    }

    /// Most requests that it meets. Few: what the gateway was unclear about costs it a rest, and people their time.
    const fn count_max(self) -> usize {
        match self {
            Self::GatewayLosesMessage => 2,
            Self::ModelHang | Self::ModelBreaks => 10,
            _ => 4,
        }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Postgres => "PostgreSQL",
            Self::Redis => "Redis",
            Self::Gateway => "the gateway",
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill => f.write_str("instance killed"),
            Self::Restart => f.write_str("instance restarted"),
            Self::FreezeShort => f.write_str("instance frozen shortly"),
            Self::FreezeLong => f.write_str("instance frozen beyond its leases"),
            Self::FreezeVeryLong => f.write_str("instance frozen beyond a send's lease"),
            Self::Cut(link) => write!(f, "instance cut from {link}"),
            Self::StallShort(link) => write!(f, "instance's way to {link} stalled shortly"),
            Self::StallLong(link) => write!(f, "instance's way to {link} stalled"),
            Self::RedisFlush => f.write_str("Redis emptied"),
            Self::RedisKill => f.write_str("Redis killed"),
            Self::RedisFreeze => f.write_str("Redis frozen"),
            Self::RedisReadOnly => f.write_str("Redis refuses to write"),
            Self::PostgresKill => f.write_str("PostgreSQL killed"),
            Self::PostgresFreeze => f.write_str("PostgreSQL frozen"),
            Self::PostgresRestart => f.write_str("PostgreSQL restarted"),
            Self::Gateway429 => f.write_str("gateway asked too often"),
            Self::Gateway500 => f.write_str("gateway fails"),
            Self::GatewayHang => f.write_str("gateway hangs"),
            Self::GatewayLosesAnswer => f.write_str("gateway loses answers"),
            Self::GatewayLosesMessage => f.write_str("gateway loses messages"),
            Self::GatewayNonsense => f.write_str("gateway answers nonsense"),
            Self::Model500 => f.write_str("model fails"),
            Self::ModelHang => f.write_str("model hangs"),
            Self::ModelBreaks => f.write_str("model breaks off"),
            Self::ModelSlow => f.write_str("model is slow"),
        }
    }
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if self.kind.harms_instance() {
            write!(f, ", {}", name(self.instance))?;
        }
        match self.kind.lasts_ms() {
            (0, 1) => Ok(()),
            (500, 501) => write!(f, ", {} times", self.count),
            _ => write!(f, ", {} ms", self.lasts.as_millis()),
        }
    }
}

/// What an instance is called.
pub(super) const fn name(instance: usize) -> &'static str {
    ["a", "b", "c"][instance % INSTANCES]
}

/// Deals so many faults over that time. Every kind comes up before any comes up again.
pub(super) fn deal(seed: u64, faults: usize, length: Duration) -> Vec<Planned> {
    let mut dice = fastrand::Rng::with_seed(seed);
    let length_ms = u64::try_from(length.as_millis()).unwrap_or(u64::MAX).max(1);
    let mut deck = Vec::new();
    let mut plan: Vec<Planned> = Vec::new();
    for _ in 0..faults {
        let kind = deck.pop().unwrap_or_else(|| {
            deck.extend(DECK);
            dice.shuffle(&mut deck);
            deck.pop().unwrap_or(Kind::Kill)
        });
        let mut fault = draw(&mut dice, kind, length_ms);
        for _ in 0..TRIES {
            if fits(&plan, &fault) {
                break;
            }
            fault = draw(&mut dice, kind, length_ms);
        }
        plan.push(fault);
    }
    plan.sort_by_key(|fault| fault.at);
    plan
}

fn draw(dice: &mut fastrand::Rng, kind: Kind, length_ms: u64) -> Planned {
    let (shortest, longest) = kind.lasts_ms();
    Planned {
        at: Duration::from_millis(dice.u64(0..length_ms)),
        lasts: Duration::from_millis(dice.u64(shortest..longest)),
        kind,
        instance: dice.usize(0..INSTANCES),
        count: dice.usize(1..=kind.count_max()),
    }
}

/// Whether its target is free then, and enough instances stay whole.
fn fits(plan: &[Planned], fault: &Planned) -> bool {
    let rest = Duration::from_millis(REST_MS);
    let meets = |other: &&Planned| {
        other.at < fault.at + fault.lasts + rest && fault.at < other.at + other.lasts + rest
    };
    let target = fault.kind.target(fault.instance);
    let at_once = || plan.iter().filter(meets);
    let is_free = at_once().all(|other| other.kind.target(other.instance) != target);
    let harmed = at_once().filter(|other| other.kind.harms_instance()).count();
    is_free && (!fault.kind.harms_instance() || harmed < HARMED_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_plan_and_another_seed_another() {
        let length = Duration::from_secs(100);
        assert_eq!(deal(7, 40, length), deal(7, 40, length));
        assert_ne!(deal(7, 40, length), deal(8, 40, length));
    }

    #[test]
    fn every_kind_comes_up_before_any_comes_up_again() {
        let plan = deal(1, DECK.len() * 2, Duration::from_secs(600));
        for kind in DECK {
            assert_eq!(plan.iter().filter(|fault| fault.kind == kind).count(), 2, "{kind}");
        }
    }

    #[test]
    fn no_target_has_two_faults_at_once_where_there_is_time() {
        let plan = deal(3, 100, Duration::from_secs(1_000));
        for (at, fault) in plan.iter().enumerate() {
            assert!(fits(&plan[..at], fault), "{fault:?}");
        }
    }
}
