//! `baton lock`: who works on which conversation now, and taking it from them.
//!
//! The lease in the database is what counts; the lock in Redis in front of it only saves work. Both are shown as one.

use std::{collections::BTreeMap, time::SystemTime};

use anyhow::bail;
use serde_json::{Value, json};
use uuid::Uuid;

use super::print::{self, Format};
use crate::{
    app::{self, Opened},
    config::Settings,
    domain::{
        docket::{Docket, Entry},
        event::{EventType, actor},
        time::Time,
    },
    flow::ledger::{self, Key, Need},
};

/// Look at or release the locks of conversations
#[derive(Debug, clap::Subcommand)]
pub(super) enum Lock {
    /// Locks held now: by whom, since when, and for how long
    List {
        #[command(flatten)]
        format: Format,
    },
    /// Take one lock from its holder, who stops; its work starts over elsewhere
    Release {
        /// As `list` shows it: conversation:ID
        key: String,
    },
}

/// A conversation that is being worked on.
#[derive(Debug, Default, PartialEq, Eq)]
struct Held {
    owner: String,
    since: Option<Time>,
    left_ms: i64,
    turn: Option<Uuid>,
    in_database: bool,
    in_redis: bool,
}

impl Lock {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let opened = app::open(settings).await?;
        match self {
            Self::List { format } => {
                let held = list(&opened).await?;
                if format.json {
                    print::json(&held.iter().map(as_json).collect::<Vec<_>>())?;
                } else {
                    let now = opened.ledger.now().await?;
                    let rows: Vec<_> = held.iter().map(|(key, held)| row(key, held, now)).collect();
                    print::text(&print::table(["KEY", "OWNER", "AGE", "LEFT", "WHERE"], &rows))?;
                }
            }
            Self::Release { key } => {
                let held = release(&opened, &key).await?;
                print::text(&format!("released; {} had it", held.owner))?;
            }
        }
        Ok(())
    }
}

async fn list(opened: &Opened) -> anyhow::Result<BTreeMap<String, Held>> {
    let mut all = BTreeMap::new();
    let now = opened.ledger.now().await?;
    for (conversation, lease) in opened.archive.leases().await? {
        let turn = opened.archive.turn(lease.turn).await?;
        let held = Held {
            owner: lease.owner,
            since: turn.map(|(_, _, turn)| turn.started_at),
            left_ms: lease.until.since(now),
            turn: Some(lease.turn),
            in_database: true,
            in_redis: false,
        };
        all.insert(key_of(conversation), held);
    }
    for holder in in_redis(opened).await? {
        let held = all.entry(holder.key).or_insert_with(|| Held {
            owner: holder.owner,
            since: holder.since.and_then(to_time),
            left_ms: i64::try_from(holder.remaining.as_millis()).unwrap_or(i64::MAX),
            ..Held::default()
        });
        held.in_redis = true;
    }
    Ok(all)
}

async fn in_redis(opened: &Opened) -> anyhow::Result<Vec<execution::redis_lock::Holder>> {
    match &opened.lock {
        Some(lock) => Ok(lock.list().await?),
        None => Ok(Vec::new()),
    }
}

/// The fence first: from then on the holder can write nothing. Then the lock in front.
async fn release(opened: &Opened, key: &str) -> anyhow::Result<Held> {
    let mut held = Held::default();
    let id = key.strip_prefix(KEY_BEGINS).unwrap_or(key).parse::<Uuid>();
    if let Ok(conversation) = id {
        let owner = ledger::change(&*opened.ledger, Key::Id(conversation), Need::default(), end_lease).await;
        match owner {
            Ok(Some(owner)) => held = Held { owner, in_database: true, ..held },
            Ok(None) | Err(ledger::Error::Gone) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(lock) = &opened.lock {
        let key = id.map_or_else(|_| key.to_owned(), key_of);
        if let Some(holder) = lock.force_release(&key).await? {
            held = Held {
                in_redis: true,
                owner: if held.in_database { held.owner } else { holder.owner },
                ..held
            };
        }
    }
    if !held.in_database && !held.in_redis {
        bail!("{key} is not held");
    }
    Ok(held)
}

/// Ends a lease as if its time were over, and raises the fence: its holder finds that it has lost it, and the next instance
/// takes the work over.
fn end_lease(docket: &mut Docket) -> Option<String> {
    let now = docket.now;
    let lease = docket.conversation.lease.as_mut().filter(|lease| lease.until > now)?;
    lease.until = now;
    let (owner, turn) = (lease.owner.clone(), lease.turn);
    docket.conversation.fence += 1;
    let lost = Entry::of(EventType::LockLost).action("stopped").by(actor::SHELL).turn(turn);
    docket.record(lost.with("owner", owner.as_str()));
    Some(owner)
}

const KEY_BEGINS: &str = "conversation:";

fn key_of(conversation: Uuid) -> String {
    format!("{KEY_BEGINS}{conversation}")
}

fn to_time(at: SystemTime) -> Option<Time> {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Time)
}

fn place(held: &Held) -> &'static str {
    match (held.in_database, held.in_redis) {
        (true, true) => "database, redis",
        (true, false) => "database",
        (false, _) => "redis",
    }
}

fn row(key: &str, held: &Held, now: Time) -> [String; 5] {
    [
        key.to_owned(),
        held.owner.clone(),
        held.since.map_or_else(|| "-".to_owned(), |since| print::span(now.since(since))),
        print::span(held.left_ms),
        place(held).to_owned(),
    ]
}

fn as_json((key, held): (&String, &Held)) -> Value {
    json!({
        "key": key,
        "owner": held.owner,
        "turn_id": held.turn.map(|turn| turn.to_string()),
        "since": held.since.map(|since| since.to_string()),
        "remaining_ms": held.left_ms,
        "in_database": held.in_database,
        "in_redis": held.in_redis,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        chat::ChatId,
        conversation::{Conversation, Lease, Opening},
        docket::Loaded,
        mode::{Mode, Reason},
    };

    fn worked_on_until(until: Time) -> Docket {
        let chat = ChatId::parse("6580000001@c.us").expect("a chat");
        let opening = Opening {
            mode: Mode::Ai,
            reason: Reason::Rollout,
            actor: actor::SYSTEM.to_owned(),
            drafting: false,
        };
        let mut conversation = Conversation::begin("default", chat, &opening, Time(0));
        conversation.fence = 3;
        conversation.lease = Some(Lease { owner: "one".to_owned(), turn: Uuid::nil(), until });
        Docket::open(Loaded::of(conversation), Time(1_000))
    }

    #[test]
    fn a_released_lease_is_over_at_once_and_its_fence_is_old() {
        let mut docket = worked_on_until(Time(9_000));
        assert_eq!(end_lease(&mut docket).as_deref(), Some("one"));
        assert!(docket.conversation.live_lease(docket.now).is_none());
        assert_eq!(docket.conversation.fence, 4, "whoever held it can write nothing any more");
        assert_eq!(docket.clocks().turn_at, Some(docket.now), "the work is taken up at once");
        assert_eq!(docket.events()[0].kind, EventType::LockLost);
    }

    #[test]
    fn a_lease_whose_time_is_over_is_not_held() {
        let mut docket = worked_on_until(Time(1_000));
        assert_eq!(end_lease(&mut docket), None);
        assert!(!docket.is_changed());
    }
}
