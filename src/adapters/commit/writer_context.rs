//! What the writers of one ledger share, and what each of them learns from a commit.

use std::{collections::HashMap, sync::Arc};

use super::{clock::ServerClock, docket_cache::DocketCache};
use crate::{
    domain::docket::{ChannelStanding, Loaded},
    flow::ledger::{Committed, Observer},
};

/// What the writers of one ledger share.
#[derive(Clone)]
pub(super) struct WriterContext<D> {
    /// The database.
    pub(super) dialect: D,
    /// What need not be read again.
    pub(super) cache: Arc<DocketCache>,
    /// The clock of the database, unless this machine's is.
    pub(super) clock: Arc<ServerClock>,
    /// Hears of every commit.
    pub(super) observer: Arc<dyn Observer>,
}

impl<D> WriterContext<D> {
    /// A transaction was committed, or nothing had changed: this is known now.
    pub(super) fn committed(
        &self,
        commits: &[Committed],
        known: Vec<(i64, Loaded)>,
        channels: &HashMap<String, ChannelStanding>,
    ) {
        if !commits.is_empty() {
            self.observer.committed(commits);
        }
        for (stamp, open) in known {
            if open.conversation.erased_at.is_some() {
                self.cache.forget(open.conversation.id);
            } else if open.conversation.memo.merged_into.is_none() {
                // Nothing is kept of one that was merged. Its chats are forgotten as somebody comes by them: to look through
                // all chats at each late status of its messages would hold up every writer.
                self.cache.keep(stamp, open);
            }
        }
        for (name, standing) in channels {
            self.cache.keep_channel(name, standing);
        }
    }
}
