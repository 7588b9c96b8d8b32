//! What is done to whom and when: a plan dealt from a seed before anything starts, so that the same seed gives the same
//! faults at the same moments.
//!
//! In: seed, number of faults, length. Out: faults by time, none on a target that still has one.

use std::{fmt, mem::discriminant, time::Duration};

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

/// What is done to one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Harm {
    /// Killed and started again.
    Kill,
    /// Asked to end, and started again.
    Restart,
    /// Stands still for less than any lease.
    FreezeShort,
    /// For longer than the lease of a conversation.
    FreezeLong,
    /// For longer than the lease of a send.
    FreezeVeryLong,
    /// Its connections there break, and no new ones are taken.
    Cut(Link),
    /// Nothing passes for less than any time limit, then everything.
    StallShort(Link),
    /// Nothing passes for longer than time limits and leases.
    StallLong(Link),
}

/// What Redis does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Redis {
    /// Forgets everything.
    Flush,
    /// Is killed and started again, empty.
    Kill,
    /// Stands still.
    Freeze,
    /// Refuses to write.
    ReadOnly,
}

/// What PostgreSQL does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Postgres {
    /// Is killed and started again.
    Kill,
    /// Stands still.
    Freeze,
    /// Ends every connection, and starts again.
    Restart,
}

/// What the gateway does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Gateway {
    /// Says that it is asked too often.
    Refuses,
    /// Fails, and has taken some of the messages.
    Fails,
    /// Never answers, and has taken some.
    Hangs,
    /// Takes messages, and breaks the connection.
    LosesAnswers,
    /// Breaks the connection, and has taken nothing.
    LosesMessages,
    /// Takes messages, and answers nonsense.
    Nonsense,
}

/// What the model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Model {
    /// Fails.
    Fails,
    /// Does not answer.
    Hangs,
    /// Breaks off in the middle.
    BreaksOff,
    /// Takes its time.
    IsSlow,
}

/// One thing that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// With one instance.
    Instance(Harm),
    /// With Redis.
    Redis(Redis),
    /// With PostgreSQL.
    Postgres(Postgres),
    /// With the gateway.
    Gateway(Gateway),
    /// With the model.
    Model(Model),
}

/// All of them: one deck.
const DECK: [Kind; 31] = [
    Kind::Instance(Harm::Kill),
    Kind::Instance(Harm::Restart),
    Kind::Instance(Harm::FreezeShort),
    Kind::Instance(Harm::FreezeLong),
    Kind::Instance(Harm::FreezeVeryLong),
    Kind::Instance(Harm::Cut(Link::Postgres)),
    Kind::Instance(Harm::Cut(Link::Redis)),
    Kind::Instance(Harm::Cut(Link::Gateway)),
    Kind::Instance(Harm::StallShort(Link::Postgres)),
    Kind::Instance(Harm::StallShort(Link::Redis)),
    Kind::Instance(Harm::StallShort(Link::Gateway)),
    Kind::Instance(Harm::StallLong(Link::Postgres)),
    Kind::Instance(Harm::StallLong(Link::Redis)),
    Kind::Instance(Harm::StallLong(Link::Gateway)),
    Kind::Redis(Redis::Flush),
    Kind::Redis(Redis::Kill),
    Kind::Redis(Redis::Freeze),
    Kind::Redis(Redis::ReadOnly),
    Kind::Postgres(Postgres::Kill),
    Kind::Postgres(Postgres::Freeze),
    Kind::Postgres(Postgres::Restart),
    Kind::Gateway(Gateway::Refuses),
    Kind::Gateway(Gateway::Fails),
    Kind::Gateway(Gateway::Hangs),
    Kind::Gateway(Gateway::LosesAnswers),
    Kind::Gateway(Gateway::LosesMessages),
    Kind::Gateway(Gateway::Nonsense),
    Kind::Model(Model::Fails),
    Kind::Model(Model::Hangs),
    Kind::Model(Model::BreaksOff),
    Kind::Model(Model::IsSlow),
];

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

/// How long a fault lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lasts {
    /// It happens.
    AtOnce,
    /// So many milliseconds: shortest and longest.
    Ms(u64, u64),
    /// So many requests, at most.
    Requests(usize),
}

impl Kind {
    const fn harms_instance(self) -> bool {
        matches!(self, Self::Instance(_))
    }

    const fn lasts(self) -> Lasts {
        match self {
            Self::Instance(harm) => match harm {
                Harm::Kill => Lasts::Ms(100, 1_500),
                Harm::Restart => Lasts::AtOnce,
                // Below the second within which a send must begin, and above it.
                Harm::FreezeShort => Lasts::Ms(300, 1_500),
                Harm::FreezeLong => Lasts::Ms(3_500, 5_000),
                Harm::FreezeVeryLong => Lasts::Ms(9_000, 11_000),
                Harm::Cut(_) => Lasts::Ms(300, 2_000),
                // Below the gateway's time limit: what was held back still arrives in time.
                Harm::StallShort(_) => Lasts::Ms(200, 1_200),
                Harm::StallLong(_) => Lasts::Ms(3_200, 5_000),
            },
            Self::Redis(Redis::Flush) | Self::Postgres(Postgres::Restart) => Lasts::AtOnce,
            Self::Redis(Redis::Kill) | Self::Postgres(Postgres::Kill) => Lasts::Ms(100, 2_000),
            Self::Redis(Redis::Freeze | Redis::ReadOnly) => Lasts::Ms(1_000, 4_000),
            Self::Postgres(Postgres::Freeze) => Lasts::Ms(500, 4_000),
            Self::Gateway(Gateway::Refuses) => Lasts::Ms(500, 2_000),
            // Few: what the gateway was unclear about costs it a rest, and people their time.
            Self::Gateway(Gateway::LosesMessages) => Lasts::Requests(2),
            Self::Gateway(_) => Lasts::Requests(4),
            Self::Model(Model::Fails | Model::IsSlow) => Lasts::Ms(500, 3_000),
            Self::Model(Model::Hangs | Model::BreaksOff) => Lasts::Requests(10),
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
        let words = match self {
            Self::Instance(harm) => match harm {
                Harm::Kill => "instance killed",
                Harm::Restart => "instance restarted",
                Harm::FreezeShort => "instance frozen shortly",
                Harm::FreezeLong => "instance frozen beyond its leases",
                Harm::FreezeVeryLong => "instance frozen beyond a send's lease",
                Harm::Cut(link) => return write!(f, "instance cut from {link}"),
                Harm::StallShort(link) => return write!(f, "instance's way to {link} stalled shortly"),
                Harm::StallLong(link) => return write!(f, "instance's way to {link} stalled"),
            },
            Self::Redis(Redis::Flush) => "Redis emptied",
            Self::Redis(Redis::Kill) => "Redis killed",
            Self::Redis(Redis::Freeze) => "Redis frozen",
            Self::Redis(Redis::ReadOnly) => "Redis refuses to write",
            Self::Postgres(Postgres::Kill) => "PostgreSQL killed",
            Self::Postgres(Postgres::Freeze) => "PostgreSQL frozen",
            Self::Postgres(Postgres::Restart) => "PostgreSQL restarted",
            Self::Gateway(Gateway::Refuses) => "gateway asked too often",
            Self::Gateway(Gateway::Fails) => "gateway fails",
            Self::Gateway(Gateway::Hangs) => "gateway hangs",
            Self::Gateway(Gateway::LosesAnswers) => "gateway loses answers",
            Self::Gateway(Gateway::LosesMessages) => "gateway loses messages",
            Self::Gateway(Gateway::Nonsense) => "gateway answers nonsense",
            Self::Model(Model::Fails) => "model fails",
            Self::Model(Model::Hangs) => "model hangs",
            Self::Model(Model::BreaksOff) => "model breaks off",
            Self::Model(Model::IsSlow) => "model is slow",
        };
        f.write_str(words)
    }
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if self.kind.harms_instance() {
            write!(f, ", {}", name(self.instance))?;
        }
        match self.kind.lasts() {
            Lasts::AtOnce => Ok(()),
            Lasts::Requests(_) => write!(f, ", {} times", self.count),
            Lasts::Ms(..) => write!(f, ", {} ms", self.lasts.as_millis()),
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
            deck.pop().unwrap_or(DECK[0])
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
    let (lasts_ms, count) = match kind.lasts() {
        Lasts::AtOnce => (0, 1),
        Lasts::Ms(shortest, longest) => (dice.u64(shortest..longest), 1),
        Lasts::Requests(most) => (0, dice.usize(1..=most)),
    };
    Planned {
        at: Duration::from_millis(dice.u64(0..length_ms)),
        lasts: Duration::from_millis(lasts_ms),
        kind,
        instance: dice.usize(0..INSTANCES),
        count,
    }
}

/// Whether its target is free then, and enough instances stay whole.
fn fits(plan: &[Planned], fault: &Planned) -> bool {
    let rest = Duration::from_millis(REST_MS);
    let meets = |other: &&Planned| {
        other.at < fault.at + fault.lasts + rest && fault.at < other.at + other.lasts + rest
    };
    let is_same_target = |other: &Planned| match (fault.kind, other.kind) {
        (Kind::Instance(_), Kind::Instance(_)) => fault.instance == other.instance,
        _ => discriminant(&fault.kind) == discriminant(&other.kind),
    };
    let at_once = || plan.iter().filter(meets);
    let is_free = !at_once().any(is_same_target);
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
