//! Runs of the assistant, follow-ups, and what was given up.

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    At, FollowUpStateWord, Id, LetterKindWord, LetterStateWord, PurposeWord, TurnStateWord, basic::Word,
};
use crate::{
    domain::{price::Prices, turn},
    flow::{
        archive::{Page, Usage},
        spending,
    },
};

/// A run of the assistant.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Turn {
    id: Id,
    conversation_id: Id,
    state: TurnStateWord,
    purpose: PurposeWord,
    mode_version: i64,
    /// What it answers.
    message_ids: Vec<Id>,
    started_at: At,
    first_token_at: Option<At>,
    ended_at: Option<At>,
    /// Which attempt at these messages it is, from 1.
    attempts: i32,
    model: String,
    input_tokens: i64,
    output_tokens: i64,
    /// By the prices as they are now; null without a price for the model.
    cost: Option<f64>,
    /// Nothing of it was sent: it ended without words, or all of them were withdrawn or given up before they left.
    wasted: bool,
    /// Why it ended so.
    reason: Option<String>,
}

impl Turn {
    /// A turn of that conversation.
    pub(crate) fn of(conversation: Uuid, turn: turn::Turn, prices: &Prices) -> Self {
        Self {
            cost: prices.cost(&turn.model, turn.input_tokens, turn.output_tokens),
            id: Id(turn.id),
            conversation_id: Id(conversation),
            state: Word(turn.state),
            purpose: Word(turn.purpose),
            mode_version: turn.mode_version,
            message_ids: turn.messages.into_iter().map(Id).collect(),
            started_at: At(turn.started_at),
            first_token_at: turn.first_token_at.map(At),
            ended_at: turn.ended_at.map(At),
            attempts: turn.attempt,
            model: turn.model,
            input_tokens: turn.input_tokens,
            output_tokens: turn.output_tokens,
            wasted: turn.wasted,
            reason: turn.reason,
        }
    }
}

/// A page of turns, and what all of the conversation's have used.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Turns {
    /// Newest first.
    items: Vec<Turn>,
    /// `cursor` of the next page; null at the end.
    #[schema(required)]
    next_cursor: Option<String>,
    total: Used,
}

/// What turns have used, as far as the services have reported it: for one that was stopped while it was written they report
/// nothing.
#[derive(Debug, Serialize, ToSchema)]
struct Used {
    input_tokens: i64,
    output_tokens: i64,
    /// By the prices as they are now; null without any.
    cost: Option<f64>,
}

impl Turns {
    /// Of that conversation.
    pub(crate) fn of(conversation: Uuid, page: Page<turn::Turn>, used: &[Usage], prices: &Prices) -> Self {
        Self {
            items: page.items.into_iter().map(|turn| Turn::of(conversation, turn, prices)).collect(),
            next_cursor: page.next,
            total: Used {
                input_tokens: used.iter().map(|it| it.input_tokens).sum(),
                output_tokens: used.iter().map(|it| it.output_tokens).sum(),
                cost: (!prices.is_empty()).then(|| spending::cost_of(prices, used)),
            },
        }
    }
}

/// A message that our side sends if the contact stays silent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FollowUp {
    id: Id,
    conversation_id: Id,
    due_at: At,
    text: Option<String>,
    /// What the assistant should write.
    instructions: Option<String>,
    created_by: String,
    created_at: At,
    /// `pending` until it has left, `sent` from then on.
    state: FollowUpStateWord,
    /// Why it ended so.
    reason: Option<String>,
    /// The message that carries it, from its time on. While that is queued, withdrawing it calls the follow-up off.
    message_id: Option<Id>,
}

impl FollowUp {
    /// A follow-up of that conversation.
    pub(crate) fn of(conversation: Uuid, follow_up: turn::FollowUp) -> Self {
        Self {
            id: Id(follow_up.id),
            conversation_id: Id(conversation),
            due_at: At(follow_up.due_at),
            text: follow_up.text,
            instructions: follow_up.instructions,
            created_by: follow_up.created_by,
            created_at: At(follow_up.created_at),
            state: Word(follow_up.state),
            reason: follow_up.reason,
            message_id: follow_up.message.map(Id),
        }
    }
}

/// What the machine gave up, kept for a person.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeadLetter {
    id: Id,
    kind: LetterKindWord,
    /// Null where it is of none.
    channel: Option<String>,
    conversation_id: Option<Id>,
    state: LetterStateWord,
    reason: String,
    attempts: i32,
    first_at: At,
    last_at: At,
    /// For a turn its messages, for a send the text, for a webhook the body.
    #[schema(value_type = serde_json::Value)]
    payload: Box<RawValue>,
}

impl From<turn::DeadLetter> for DeadLetter {
    fn from(letter: turn::DeadLetter) -> Self {
        Self {
            id: Id(letter.id),
            kind: Word(letter.kind),
            channel: (!letter.channel.is_empty()).then_some(letter.channel),
            conversation_id: letter.conversation.map(Id),
            state: Word(letter.state),
            reason: letter.reason,
            attempts: letter.attempts,
            first_at: At(letter.first_at),
            last_at: At(letter.last_at),
            payload: letter.payload.into_raw(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_conversation_has_cost_is_the_sum_over_its_models() {
        let used = |model: &str, wasted| Usage {
            model: model.to_owned(),
            wasted,
            input_tokens: 1_000_000,
            output_tokens: 500_000,
        };
        let used = [used("small", false), used("small", true), used("large", false), used("unpriced", false)];
        let total = |prices: &Prices| {
            let page = Page { items: Vec::new(), next: None };
            Turns::of(Uuid::nil(), page, &used, prices).total
        };
        let priced = total(&"small=1/2,large=10/20".parse().expect("prices"));
        assert_eq!(
            (priced.input_tokens, priced.output_tokens, priced.cost),
            (4_000_000, 2_000_000, Some(24.0))
        );
        assert_eq!(total(&Prices::default()).cost, None, "nobody has said what it costs");
    }
}
