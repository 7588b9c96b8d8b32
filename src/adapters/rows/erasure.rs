//! The rows of people who are being erased, and of what is kept of them.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{Json, table};
use crate::{
    domain::{chat::ChatId, docket::Erasure, time::Time},
    flow::forgetting::tombstones::Removal,
};

table! {
    /// One conversation whose rows go.
    ErasureRow in "erasures" {
        conversation_id: Uuid,
        actor: String,
        removed: Json<BTreeMap<String, i64>>,
        worked_at: Time,
    }
}

impl ErasureRow {
    /// Of a conversation that was closed for good, of which nothing is removed yet.
    pub(crate) fn begun(conversation: Uuid, actor: String, now: Time) -> Self {
        Self { conversation_id: conversation, actor, removed: Json(BTreeMap::new()), worked_at: now }
    }
}

table! {
    /// An id that the chat of such a conversation had.
    ErasedChatRow in "erased_chats" {
        chat_id: ChatId,
        channel: String,
        conversation_id: Uuid,
    }
}

table! {
    /// One hash.
    TombstoneRow in "tombstones" {
        hash: String,
        kind: Removal,
        until: Option<Time>,
    }
}

impl TombstoneRow {
    /// Of one that is there already, what is kept for longer counts: the person may be erased again.
    pub(crate) const OR_LONGER: &str =
        "on conflict (hash) do update set until = excluded.until where tombstones.until < excluded.until";

    /// Of words that may come back as an echo.
    pub(crate) fn of_echoes(erasure: &Erasure) -> impl Iterator<Item = Self> + '_ {
        let until = Some(erasure.echoed_until);
        erasure.echoes.iter().map(move |hash| Self { hash: hash.clone(), kind: Removal::Erased, until })
    }
}
