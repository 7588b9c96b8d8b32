//! Place: the business's own services, which the model queries while it writes.

use async_trait::async_trait;

use super::{About, Failure, tools::Asking};

/// What is asked, and for whom.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// By which tool, with which arguments.
    pub asking: &'a Asking,
    /// The channel.
    pub channel: &'a str,
    /// The conversation and its turn.
    pub about: &'a About,
    /// Its place among those of the turn, from 1 on: no two questions have one turn and one number.
    pub number: usize,
}

/// The place. Dropping the future hangs up at once.
#[async_trait]
pub trait LookUps: Send + Sync {
    /// What the business answers, as text for the model.
    async fn ask(&self, question: Question<'_>) -> Result<String, Failure>;
}
