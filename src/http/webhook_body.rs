//! Events as they are posted to webhook endpoints: what the list of events shows, with conversation and message.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use serde::Serialize;

use super::{
    answer::to_json,
    names::Directory,
    view::View,
    wire::{At, Event, EventWord, Word},
};
use crate::flow::{
    archive::{Archive, Recorded},
    ledger::Error,
    notify::Bodies,
};

/// Puts events into words.
pub struct WebhookBodies {
    /// Where conversations and messages are.
    pub archive: Arc<dyn Archive>,
    /// What agents are called.
    pub directory: Arc<Directory>,
}

/// What is posted.
#[derive(Serialize)]
struct Body {
    r#type: EventWord,
    timestamp: At,
    data: Event,
}

#[async_trait]
impl Bodies for WebhookBodies {
    async fn body(&self, event: &Recorded) -> Result<Bytes, Error> {
        let shown = View::of_all().events(&*self.archive, &self.directory, &[event]).await?;
        let data = shown.into_iter().next().ok_or_else(|| Error::Refused("an event shows nothing".into()))?;
        let body = Body { r#type: Word(event.event.kind), timestamp: At(event.event.at), data };
        Ok(to_json(&body).into())
    }
}
