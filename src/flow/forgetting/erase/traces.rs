//! What somebody wrote among others: in groups, and as stories. It is theirs, and goes with them; the chats stay.
//!
//! In: the ids of a person. Out: their messages empty, and what others have quoted of them.

use std::collections::HashSet;

use uuid::Uuid;

use super::{Eraser, PAGE};
use crate::{
    domain::chat::ChatId,
    flow::{
        forgetting::erasures::{Erasing, SharedMessage, Traces, Turned},
        ledger::Error,
    },
};

/// Where it is recorded what was taken out of the chats of several people.
pub(super) enum Told {
    /// The erasure, which counts it.
    Erasing(Erasing),
    /// Nowhere, as no conversation is erased: the number of messages.
    Nobody(i64),
}

impl Eraser {
    /// What they wrote in groups, and as stories, is theirs, too; what others wrote there is not. Nothing tells who wrote in
    /// which, so all are looked through. None: somebody else has taken it over.
    pub(super) async fn unname(
        &self,
        channel: &str,
        chats: &[ChatId],
        mut told: Told,
    ) -> Result<Option<Told>, Error> {
        let mut after = None;
        loop {
            let page = self.erasures.shared(channel, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(Some(told)) };
            after = Some(*last);
            for shared in page {
                let Some(now) = self.unname_in(shared, chats, told).await? else { return Ok(None) };
                told = now;
            }
        }
    }

    async fn unname_in(&self, shared: Uuid, chats: &[ChatId], mut told: Told) -> Result<Option<Told>, Error> {
        let (mut after, mut gone) = (Some(0), HashSet::new());
        while let Some(from) = after {
            let (messages, next) = self.erasures.shared_messages(shared, from, PAGE).await?;
            after = next;
            let traces = traces(messages, chats, &mut gone);
            if traces.is_empty() {
                continue;
            }
            told = match told {
                Told::Erasing(erasing) => match self.erasures.unname(&erasing, shared, traces).await? {
                    Turned::Removed(now) => Told::Erasing(now),
                    Turned::Nothing | Turned::Overtaken => return Ok(None),
                },
                Told::Nobody(before) => {
                    let count = i64::try_from(traces.written.len()).unwrap_or(i64::MAX);
                    self.erasures.unname_alone(shared, traces).await?;
                    Told::Nobody(before.saturating_add(count))
                }
            };
        }
        Ok(Some(told))
    }
}

/// What of these messages is theirs. Remembers what is gone: it may be quoted further on.
fn traces(messages: Vec<SharedMessage>, chats: &[ChatId], gone: &mut HashSet<String>) -> Traces {
    let mut traces = Traces::default();
    for message in messages {
        let is_theirs =
            message.writer.as_ref().is_some_and(|writer| chats.iter().any(|chat| chat.as_str() == writer));
        if is_theirs || message.is_emptied {
            gone.extend(message.provider_id);
        }
        if is_theirs {
            traces.written.push(message.id);
        } else if message.quotes.is_some_and(|quoted| gone.contains(&quoted)) {
            traces.quoting.push(message.id);
        }
    }
    traces
}
