//! The archive for both databases: one text for each question, with the few differences next to it.
//!
//! In: questions of the API, the feed and the model's context. Out: domain values. Each is a handful of statements
//! outside any transaction: nothing is decided by what is read here.

pub(super) mod cursor;

mod read_limit;

mod filter;

mod conversations;

mod search;

mod text_match;

mod overview;

mod messages;

mod turns;

mod follow_ups;

mod drafts;

pub(super) mod letters;

mod events;

pub(super) mod feed;

mod statistics;

mod waits;

mod depths;

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use uuid::Uuid;

use super::sql::Store;
use crate::{
    domain::{
        chat::ChatId,
        conversation::Lease,
        draft::Draft,
        message::Message,
        turn::{DeadLetter, FollowUp, Turn},
    },
    flow::{
        archive::{
            Archive, ConversationFilter, Counts, EventFilter, Exchanged, FollowUpFilter, LetterFilter,
            MessageFilter, Overview, Page, PageOf, Placed, Recorded, Window,
        },
        ledger::Error,
    },
};

#[async_trait]
impl<S: Store> Archive for S {
    async fn conversation(&self, id: Uuid) -> Result<Option<Overview>, Error> {
        conversations::one(self, id).await
    }

    async fn conversation_of(&self, channel: &str, chat: &ChatId) -> Result<Option<Overview>, Error> {
        conversations::of_chat(self, channel, chat).await
    }

    async fn overviews(&self, ids: &[Uuid]) -> Result<Vec<Overview>, Error> {
        conversations::of_ids(self, ids).await
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
        page: &PageOf,
    ) -> Result<Page<Overview>, Error> {
        conversations::list(self, filter, page).await
    }

    async fn counts(&self, filter: &ConversationFilter) -> Result<Counts, Error> {
        conversations::counts(self, filter).await
    }

    async fn messages(
        &self,
        conversation: Uuid,
        window: Window,
        limit: usize,
    ) -> Result<Vec<Message>, Error> {
        messages::window(self, conversation, window, limit).await
    }

    async fn exchanged(&self, filter: &MessageFilter, page: &PageOf) -> Result<Page<Exchanged>, Error> {
        messages::exchanged(self, filter, page).await
    }

    async fn message(&self, id: Uuid) -> Result<Option<Placed>, Error> {
        messages::one(self, id).await
    }

    async fn beside(&self, ids: &[Uuid]) -> Result<Vec<(Uuid, Message)>, Error> {
        messages::beside(self, ids).await
    }

    async fn placed(&self, ids: &[Uuid]) -> Result<Vec<Placed>, Error> {
        messages::of_ids(self, ids).await
    }

    async fn has_message(&self, channel: &str, chat: &ChatId, key: &str) -> Result<bool, Error> {
        messages::has(self, channel, chat, key).await
    }

    async fn history(&self, conversation: Uuid, up_to_seq: i64, limit: usize) -> Result<Vec<Message>, Error> {
        messages::history(self, conversation, up_to_seq, limit).await
    }

    async fn turns(&self, conversation: Uuid, page: &PageOf) -> Result<Page<Turn>, Error> {
        turns::list(self, conversation, page).await
    }

    async fn turn(&self, id: Uuid) -> Result<Option<(Uuid, String, Turn)>, Error> {
        turns::one(self, id).await
    }

    async fn follow_ups(
        &self,
        filter: &FollowUpFilter,
        page: &PageOf,
    ) -> Result<Page<(Uuid, FollowUp)>, Error> {
        follow_ups::list(self, filter, page).await
    }

    async fn drafts(&self, conversation: Uuid, page: &PageOf) -> Result<Page<Draft>, Error> {
        drafts::list(self, conversation, page).await
    }

    async fn draft(&self, id: Uuid) -> Result<Option<(Uuid, Draft)>, Error> {
        drafts::one(self, id).await
    }

    async fn letters(&self, filter: &LetterFilter, page: &PageOf) -> Result<Page<DeadLetter>, Error> {
        letters::list(self, filter, page).await
    }

    async fn letter(&self, id: Uuid) -> Result<Option<DeadLetter>, Error> {
        letters::one(self, id).await
    }

    async fn events(&self, filter: &EventFilter, page: &PageOf) -> Result<Page<Recorded>, Error> {
        events::list(self, filter, page).await
    }

    async fn leases(&self) -> Result<Vec<(Uuid, Lease)>, Error> {
        conversations::leases(self).await
    }
}
