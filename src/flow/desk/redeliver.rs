//! Redelivers what a webhook endpoint did not receive.
//!
//! The delivery first, then its dead letter is closed: a crash in between only delivers it again.

use uuid::Uuid;

use super::{Desk, Refusal, Who, refusal::not_retryable};
use crate::{
    domain::{
        docket::Entry,
        event::EventType,
        turn::{DeadLetter, LetterKind, LetterState},
    },
    flow::notify::endpoints::Delivery,
};

impl Desk {
    /// Tells an endpoint something again. If it had been given up, its dead letter is replayed with it.
    pub async fn tell_again(&self, delivery: Uuid, who: &Who) -> Result<(), Refusal> {
        let found = self.endpoints.delivery(delivery).await?.ok_or(Refusal::NotFound)?;
        self.tell_what_is_wanted(&found).await?;
        let letter = self.archive.letter(delivery).await?;
        let is_open =
            |letter: &DeadLetter| letter.kind == LetterKind::Delivery && letter.state == LetterState::Open;
        if let Some(letter) = letter.filter(is_open) {
            self.end_letter(letter, LetterState::Replayed, who).await?;
        }
        Ok(())
    }

    /// The same, from its dead letter.
    pub(super) async fn replay_delivery(&self, letter: DeadLetter, who: &Who) -> Result<DeadLetter, Refusal> {
        if letter.state != LetterState::Open {
            return Err(not_retryable("it was replayed or discarded before"));
        }
        let Some(found) = self.endpoints.delivery(letter.subject.unwrap_or(letter.id)).await? else {
            return Err(not_retryable("its endpoint was removed, or the database was restored since"));
        };
        self.tell_what_is_wanted(&found).await?;
        self.end_letter(letter, LetterState::Replayed, who).await
    }

    /// What would be dropped is refused: a letter that counts as replayed is looked at by nobody any more.
    async fn tell_what_is_wanted(&self, delivery: &Delivery) -> Result<(), Refusal> {
        if delivery.event.is_none() {
            return Err(not_retryable("it was a test: make another"));
        }
        let standing = self.endpoints.endpoint(delivery.endpoint).await?.ok_or(Refusal::NotFound)?;
        if !standing.endpoint.covers(delivery.kind, &delivery.channel) {
            return Err(not_retryable("the endpoint no longer receives such events"));
        }
        if !self.endpoints.tell_again(delivery.id).await? {
            return Err(not_retryable("the event is no longer kept"));
        }
        Ok(())
    }

    /// What is of no conversation is replayed or discarded.
    pub(super) async fn end_letter(
        &self,
        letter: DeadLetter,
        state: LetterState,
        who: &Who,
    ) -> Result<DeadLetter, Refusal> {
        let now = self.ledger.now().await?;
        let kind = match state {
            LetterState::Open | LetterState::Replayed => EventType::DeadLetterReplayed,
            LetterState::Discarded => EventType::DeadLetterDiscarded,
        };
        let ended = DeadLetter { state, last_at: now, ..letter };
        let event = Entry::of(kind)
            .by(&who.actor)
            .with("dead_letter_id", ended.id.to_string())
            .outside(&ended.channel, now);
        self.ledger.keep(vec![event], vec![ended.clone()]).await?;
        Ok(ended)
    }
}
