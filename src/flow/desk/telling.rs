//! What an endpoint of webhooks did not receive is told again.
//!
//! The effect first, then the end of the dead letter: whoever is cut off between them tells it once more.

use uuid::Uuid;

use super::{Desk, Refusal, Who, refusal::not_retryable};
use crate::domain::{
    docket::Entry,
    event::EventType,
    turn::{DeadLetter, LetterKind, LetterState},
};

impl Desk {
    /// Tells an endpoint something again. If it had been given up, its dead letter is replayed with it.
    pub async fn tell_again(&self, delivery: Uuid, who: &Who) -> Result<(), Refusal> {
        if !self.endpoints.tell_again(delivery).await? {
            return Err(Refusal::NotFound);
        }
        let letter = self.archive.letter(delivery).await?;
        let is_open =
            |letter: &DeadLetter| letter.kind == LetterKind::Delivery && letter.state == LetterState::Open;
        if let Some(letter) = letter.filter(is_open) {
            self.end_letter(letter, who).await?;
        }
        Ok(())
    }

    /// The same, from its dead letter.
    pub(super) async fn replay_delivery(&self, letter: DeadLetter, who: &Who) -> Result<DeadLetter, Refusal> {
        if letter.state != LetterState::Open {
            return Err(not_retryable(None, "it was replayed or discarded before"));
        }
        if !self.endpoints.tell_again(letter.subject.unwrap_or(letter.id)).await? {
            return Err(not_retryable(None, "its endpoint was removed, or the database was restored since"));
        }
        self.end_letter(letter, who).await
    }

    pub(super) async fn end_letter(&self, letter: DeadLetter, who: &Who) -> Result<DeadLetter, Refusal> {
        let now = self.ledger.now().await?;
        let replayed = DeadLetter { state: LetterState::Replayed, last_at: now, ..letter };
        let event = Entry::of(EventType::DeadLetterReplayed)
            .by(&who.actor)
            .with("dead_letter_id", replayed.id.to_string())
            .outside(&replayed.channel, now);
        self.ledger.keep(vec![event], vec![replayed.clone()]).await?;
        Ok(replayed)
    }
}
