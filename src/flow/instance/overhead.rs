//! What a reply costs besides the model and the delays that were chosen: from the ripe burst to the POST, summed over
//! the steps of this instance, for the metric of that name.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use metrics::histogram;
use uuid::Uuid;

use super::measure::seconds;
use crate::domain::message::Message;

/// Replies whose first part has not left yet. Those that never leave are forgotten when there are this many.
const REPLIES_MAX: usize = 20_000;

/// What replies have cost so far, until their first part leaves.
#[derive(Default)]
pub struct Overhead {
    until_commit_ms: Mutex<HashMap<Uuid, i64>>,
}

impl Overhead {
    /// The reply of a turn is committed; it has cost this much.
    pub fn begin(&self, turn: Uuid, ms: i64) {
        let mut replies = self.until_commit_ms.lock().unwrap_or_else(PoisonError::into_inner);
        if replies.len() >= REPLIES_MAX {
            replies.clear();
        }
        replies.insert(turn, ms);
    }

    /// A message is claimed, at the moment of its attempt: if it is the first part of a reply, its overhead is known.
    pub fn end(&self, message: &Message) {
        let (Some(turn), Some(delivery)) = (message.turn, &message.delivery) else { return };
        let Some(attempt) = delivery.attempt.filter(|_| delivery.part == 1 && delivery.attempts == 1) else {
            return;
        };
        let before = self.until_commit_ms.lock().unwrap_or_else(PoisonError::into_inner).remove(&turn);
        if let Some(before) = before {
            let ms = before + attempt.at.since(delivery.due_at).max(0);
            histogram!("baton_overhead_seconds").record(seconds(ms));
        }
    }
}
