//! Place: answers to questions that were asked before, for the time in which the model is unavailable.
//!
//! In: turns that answered one question and nothing else. Out: the same words for anyone who asks the same, while
//! the breaker of the model is open and the channel allows it. What is kept here is a hint: the answer itself is read from
//! the messages.

use async_trait::async_trait;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{Line, context};
use crate::{
    domain::{
        message::{Kind, Message},
        time::Time,
        turn::Purpose,
    },
    flow::{inbox::Begun, instance::channels::Channel, ledger::Error, reply::Answer},
};

/// How long after it was first given an answer is given again.
pub const KEPT_MS: i64 = 86_400_000;

/// What was asked, and of whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The channel on which it was asked.
    pub channel: String,
    /// Hash of its words.
    pub words: String,
    /// Hash of the prompt and the model's name.
    pub prompt: String,
}

/// A question that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// What was asked.
    pub question: Question,
    /// The conversation in which it was asked.
    pub conversation: Uuid,
    /// The turn that answered.
    pub turn: Uuid,
    /// The model had read nothing but the question, so the answer is about nobody in particular.
    pub alone: bool,
    /// When the turn began, by the store's clock.
    pub at: Time,
}

/// The place.
#[async_trait]
pub trait Answers: Send + Sync {
    /// Keeps that a question was answered.
    async fn keep_answer(&self, answered: &Answered) -> Result<(), Error>;

    /// The newest answer since then, and the turn that gave it: one that was given in this conversation, or that is about
    /// nobody in particular; all of which has left, and after which no agent has written.
    async fn find_answer(
        &self,
        question: &Question,
        conversation: Uuid,
        since: Time,
    ) -> Result<Option<(Uuid, String)>, Error>;

    /// Forgets what is older. Returns how many.
    async fn forget_answers(&self, before: Time) -> Result<u64, Error>;
}

impl Question {
    /// What a turn asks, if its answer depends on that alone: one text, on a channel that allows such answers.
    fn of(channel: &Channel, begun: &Begun) -> Option<Self> {
        let [message] = begun.burst.as_slice() else { return None };
        let is_plain = channel.policy.cached_answers
            && begun.turn.purpose == Purpose::Reply
            && begun.note.is_none()
            && is_text_alone(message);
        is_plain.then(|| Self {
            channel: channel.name.clone(),
            words: hash([message.text.split_whitespace().collect::<Vec<_>>().join(" ").as_str()]),
            prompt: hash([
                channel.policy.ai_model.as_str(),
                &context::of_that_day(&channel.policy, begun.at),
            ]),
        })
    }
}

impl Answered {
    /// What is kept of a turn that is answered by words alone, if its answer may be given again.
    pub(in crate::flow) fn of(channel: &Channel, begun: &Begun, alone: bool) -> Option<Self> {
        let question = Question::of(channel, begun)?;
        Some(Self { question, conversation: begun.conversation, turn: begun.turn.id, alone, at: begun.at })
    }
}

/// Whether what was asked says it all: words that answer a question of ours mean nothing without it.
pub(in crate::flow) fn stands_alone(lines: &[Line]) -> bool {
    let asks = |text: &str| text.contains(['?', '？', '؟']);
    let ours = lines.iter().rev().find_map(|line| match line {
        Line::Assistant(text) | Line::Colleague(text) => Some(text.as_str()),
        Line::Contact(_) | Line::Instruction(_) | Line::Calls(..) | Line::Result { .. } => None,
    });
    let is_asking = matches!(lines.last(), Some(Line::Contact(text)) if asks(text));
    is_asking || !ours.is_some_and(asks)
}

fn is_text_alone(message: &Message) -> bool {
    message.kind == Kind::Text && message.quoted.is_none()
}

fn hash<const N: usize>(texts: [&str; N]) -> String {
    let hasher = texts.iter().fold(Sha256::new(), |hasher, text| hasher.chain_update(text).chain_update([0]));
    hex::encode(hasher.finalize())
}

/// The answer to the same question, as if the model had written it. None if there is none.
pub(in crate::flow) async fn recall(
    answers: &dyn Answers,
    channel: &Channel,
    begun: &Begun,
    now: Time,
) -> Option<Answer> {
    let question = Question::of(channel, begun)?;
    let found = answers.find_answer(&question, begun.conversation, now.plus_ms(-KEPT_MS)).await;
    let (turn, text) = found
        .inspect_err(|error| tracing::debug!(%error, "an earlier answer was not looked for this time"))
        .ok()??;
    Some(Answer { text, recalled: Some(turn), ..Answer::default() })
}

/// Keeps that this turn answered its question, once its words are owed. An answer that is not kept is only not given again.
pub(in crate::flow) async fn remember(answers: &dyn Answers, answered: &Answered) {
    if let Err(error) = answers.keep_answer(answered).await {
        tracing::debug!(%error, "an answer was not kept for later");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_answers_a_question_of_ours_does_not_stand_alone() {
        let table = [
            (None, "Are you open?", true),
            (None, "opening hours", true),
            (Some("From nine to five."), "opening hours", true),
            (Some("Shall I keep the blue bowl for you?"), "Yes", false),
            (Some("From nine to five. Anything else?"), "Are you open?", true),
            (Some("Anything else？"), "No", false),
        ];
        for (ours, text, alone) in table {
            let before = ours.map(|text| Line::Assistant(text.to_owned()));
            let lines: Vec<Line> = before.into_iter().chain([Line::Contact(text.to_owned())]).collect();
            assert_eq!(stands_alone(&lines), alone, "{ours:?} {text}");
        }
    }
}
