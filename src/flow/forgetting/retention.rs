//! Step: what is older than allowed is removed, and nothing that somebody still waits for.
//!
//! In: a clock that rings every hour, or a command. Out: messages, turns, drafts, dead letters, events and follow-ups of
//! that age gone, conversations of which nothing is left gone with them; of each message the hash of its key stays, so that
//! its late webhook is still a duplicate.

use std::{collections::BTreeSet, sync::Arc};

use uuid::Uuid;

use super::{
    erasures::{Rows, add},
    expiry::{Expired, Expiry, Kind},
    tombstones::Tombstones,
};
use crate::{
    domain::{docket::Docket, event::actor, time::Time},
    flow::{
        drafts,
        ledger::{Error, Key, Ledger, Need, change},
    },
};

/// Rows of one kind in one transaction, and conversations of one look.
const PAGE: usize = 500;
/// A run that comes a little early is not too early.
const EVERY_MS: i64 = 50 * 60_000;
/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// The step.
pub struct Retention {
    /// Where conversations are changed.
    pub ledger: Arc<dyn Ledger>,
    /// Where it is found what has expired.
    pub expiry: Arc<dyn Expiry>,
    /// By what removed messages are known.
    pub tombstones: Tombstones,
    /// How long everything is kept.
    pub days: i64,
}

impl Retention {
    /// Removes what has expired, unless another instance has within the hour. None: one has.
    pub async fn ring(&self) -> Result<Option<Rows>, Error> {
        if !self.expiry.claim_retention(EVERY_MS).await? {
            return Ok(None);
        }
        self.run().await.map(Some)
    }

    /// Removes what has expired. Returns how many rows, by table.
    pub async fn run(&self) -> Result<Rows, Error> {
        let before = self.before().await?;
        let mut removed = Rows::new();
        for kind in Kind::ALL {
            let mut after = None;
            loop {
                let (conversations, next) = self.expiry.aged(kind, before, after, PAGE).await?;
                for conversation in conversations {
                    self.expire(conversation, before, &mut removed).await?;
                }
                after = next;
                if after.is_none() {
                    break;
                }
            }
        }
        loop {
            let others = self.expiry.expire_others(before, PAGE).await?;
            if others.is_empty() {
                break;
            }
            add(&mut removed, others);
        }
        self.remove_empty(before, &mut removed).await?;
        if !removed.is_empty() {
            self.expiry.end_retention().await;
        }
        Ok(removed)
    }

    /// What would be removed, by table.
    pub async fn count(&self) -> Result<Rows, Error> {
        self.expiry.count_expired(self.before().await?).await
    }

    async fn before(&self) -> Result<Time, Error> {
        Ok(self.ledger.now().await?.plus_ms(-self.days.saturating_mul(DAY_MS)))
    }

    /// Removes what has expired of one conversation. One that is busy is left to the next time.
    async fn expire(&self, conversation: Uuid, before: Time, removed: &mut Rows) -> Result<(), Error> {
        while let Some(expired) = self.expiry.expired(conversation, before, PAGE).await? {
            if expired.rows.iter().any(|(kind, _)| *kind == Kind::Drafts) {
                // The rules hold the fresh one for one that is there.
                match change(&*self.ledger, Key::Id(conversation), Need::default(), retire_old(before)).await
                {
                    Ok(false) | Err(Error::Gone) => {}
                    Ok(true) => continue,
                    Err(error) => return Err(error),
                }
            }
            if !self.expiry.expire(&expired, self.hashes(&expired)).await? {
                return Ok(());
            }
            for (kind, rows) in &expired.rows {
                let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
                *removed.entry(kind.table().to_owned()).or_default() += count;
            }
            if !expired.has_more {
                return Ok(());
            }
        }
        Ok(())
    }

    fn hashes(&self, expired: &Expired) -> Vec<String> {
        let of = |chat| expired.keys.iter().map(move |key| (chat, key));
        let all: BTreeSet<String> = expired
            .chats
            .iter()
            .flat_map(of)
            .map(|(chat, key)| self.tombstones.of(&expired.channel, chat, key).hash)
            .collect();
        all.into_iter().collect()
    }

    async fn remove_empty(&self, before: Time, removed: &mut Rows) -> Result<(), Error> {
        let mut after = None;
        loop {
            let (conversations, next) = self.expiry.empty(before, after, PAGE).await?;
            for conversation in conversations {
                if self.expiry.remove_empty(conversation, before).await? {
                    self.ledger.forget(conversation);
                    *removed.entry("conversations".to_owned()).or_default() += 1;
                }
            }
            after = next;
            if after.is_none() {
                return Ok(());
            }
        }
    }
}

impl Kind {
    /// Where rows of this kind are.
    pub const fn table(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Turns => "turns",
            Self::Drafts => "drafts",
            Self::Letters => "dead_letters",
            Self::FollowUps => "follow_ups",
            Self::Parked => "parked",
        }
    }
}

/// The rule: a suggestion that nobody has decided about in all that time is no longer one. True if there was such a one.
fn retire_old(before: Time) -> impl Fn(&mut Docket) -> bool + Send + Sync + 'static {
    move |docket| {
        let is_old = docket.fresh_draft().is_some_and(|draft| draft.created_at < before);
        if is_old {
            drafts::retire(docket, "expired", actor::SYSTEM);
        }
        is_old
    }
}
