//! The end of a docket: the person behind it is erased. Whatever works on it stops, nobody looks again, and the store lets
//! nobody in any more; the rows go afterwards, page by page.

use super::Docket;
use crate::domain::{
    chat::ChatId,
    conversation::{Memo, Status},
    time::Time,
    turn::TurnState,
};

/// What is kept of a person who is erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    /// Who erases.
    pub actor: String,
    /// The ids by which they are known, those of other conversations with them included.
    pub chats: Vec<ChatId>,
    /// Hashes of words that may have left without an answer: their echo is of nobody else. And those of the chats, for what
    /// was written there before.
    pub echoes: Vec<String>,
    /// Nothing of it comes later.
    pub echoed_until: Time,
}

impl Docket {
    /// Closes the conversation for good.
    pub fn erase(&mut self, erasure: Erasure) {
        let now = self.now;
        let lease = self.conversation.lease.take();
        if let Some(turn) = lease.and_then(|lease| self.edit_turn(lease.turn))
            && turn.state == TurnState::Generating
        {
            turn.state = TurnState::Cancelled;
            turn.ended_at = Some(now);
            turn.reason = Some("erased".to_owned());
        }
        let conversation = &mut self.conversation;
        conversation.erased_at = Some(now);
        // Nothing that anybody has begun here may be ended.
        conversation.fence += 1;
        conversation.contact_name = None;
        conversation.mode.until = None;
        (conversation.status, conversation.snoozed_until) = (Status::Closed, None);
        (conversation.assignee, conversation.attention, conversation.waiting_since) = (None, None, None);
        conversation.unread = 0;
        conversation.memo = Memo::default();
        self.dirty.erasure = Some(erasure);
    }
}
