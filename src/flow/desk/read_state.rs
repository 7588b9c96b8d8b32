//! Rules: what people have read of what the contact wrote, and whether the contact sees that.
//!
//! In: a person who reads, answers, or marks as unread. Out: up to where all of it is read; blue ticks, where the channel has
//! them.

use std::sync::Arc;

use uuid::Uuid;

use super::{Desk, Refusal, Who, patch, refusal::or_not_found};
use crate::{
    domain::{
        chat::ChatId,
        docket::Docket,
        message::{Author, Message},
        policy::ReadReceipts,
    },
    flow::{
        instance::channels::Channel,
        ledger::{Key, Need, change},
    },
};

/// What is read, or marked as unread, is looked for so far back.
const LOOKS_BACK: usize = 200;

/// The contact is to see that a person of our side reads.
pub(super) struct Ticks {
    channel: Arc<Channel>,
    chat: ChatId,
}

impl Ticks {
    /// For what was read just now, if anything was, where the channel shows what people read.
    pub(super) fn of(docket: &Docket, channel: &Arc<Channel>, is_read_now: bool) -> Option<Self> {
        let is_shown = match channel.policy.read_receipts {
            ReadReceipts::Answer | ReadReceipts::Agent => is_read_now,
            ReadReceipts::Never => false,
        };
        is_shown.then(|| Self { channel: Arc::clone(channel), chat: docket.conversation.chat.clone() })
    }

    /// Once it is committed.
    pub(super) fn give(&self) {
        self.channel.show_read(&self.chat);
    }
}

impl Desk {
    /// Read up to here (default: the newest), for all agents: the very conversation of the key, for numbers of one that was
    /// merged are its own. What was read stays so, however late somebody says that they have read less.
    pub async fn read(&self, key: Key, up_to: Option<i64>, who: &Who) -> Result<Uuid, Refusal> {
        let (channels, by) = (Arc::clone(&self.channels), who.actor.clone());
        let need = Need { newest: LOOKS_BACK, ..Need::itself() };
        let step = move |docket: &mut Docket| {
            let (newest, read_before) = (docket.conversation.seq, docket.conversation.read_seq);
            let seq = up_to.unwrap_or(newest).min(newest).max(read_before);
            let unread = docket
                .messages()
                .iter()
                .filter(|message| {
                    message.author == Author::Contact && message.seq > seq && patch::counts_as_unread(message)
                })
                .count();
            patch::set_read(docket, seq, i64::try_from(unread).unwrap_or(i64::MAX), &by);
            let is_read_now = |message: &Message| {
                message.author == Author::Contact && (read_before + 1..=seq).contains(&message.seq)
            };
            let is_news = docket.messages().iter().any(is_read_now);
            let channel = channels.get(&docket.conversation.channel);
            (docket.conversation.id, channel.and_then(|channel| Ticks::of(docket, &channel, is_news)))
        };
        let (id, ticks) = or_not_found(change(&*self.ledger, key, need, step).await)?;
        if let Some(ticks) = ticks {
            ticks.give();
        }
        Ok(id)
    }

    /// Marks the newest message of the contact unread again, in the very conversation of the key.
    pub async fn unread(&self, key: Key, who: &Who) -> Result<Uuid, Refusal> {
        let by = who.actor.clone();
        let need = Need { newest: LOOKS_BACK, ..Need::itself() };
        let step = move |docket: &mut Docket| {
            patch::mark_unread(docket, &by);
            docket.conversation.id
        };
        or_not_found(change(&*self.ledger, key, need, step).await)
    }
}
