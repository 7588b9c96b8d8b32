//! The row of a draft.

use uuid::Uuid;

use super::{Stored, required, table};
use crate::domain::{
    draft::{Decision, Draft, DraftState, SentDraft},
    time::Time,
};

table! {
    /// One draft.
    DraftRow in "drafts" {
        id: Uuid,
        conversation_id: Uuid,
        text: String,
        state: DraftState,
        based_on_seq: i64,
        turn_id: Uuid,
        message_id: Option<Uuid>,
        decided_by: Option<String>,
        decided_at: Option<Time>,
        edit_distance: Option<i64>,
        created_at: Time,
    }
}

impl DraftRow {
    /// The row of a draft of that conversation.
    pub(crate) fn of(conversation: Uuid, draft: Draft) -> Self {
        let sent = draft.decision.as_ref().and_then(|decision| decision.sent);
        let (decided_by, decided_at) = draft.decision.map(|decision| (decision.by, decision.at)).unzip();
        Self {
            id: draft.id,
            conversation_id: conversation,
            text: draft.text,
            state: draft.state,
            based_on_seq: draft.based_on_seq,
            turn_id: draft.turn,
            message_id: sent.map(|sent| sent.message),
            decided_by,
            decided_at,
            edit_distance: sent.map(|sent| sent.edit_distance),
            created_at: draft.created_at,
        }
    }

    fn sent(&self) -> Result<Option<SentDraft>, sqlx::Error> {
        let Some(message) = self.message_id else { return Ok(None) };
        Ok(Some(SentDraft { message, edit_distance: required(self.edit_distance, "edit_distance")? }))
    }
}

impl Stored for Draft {
    type Row = DraftRow;

    fn of_row(row: DraftRow) -> Result<Self, sqlx::Error> {
        let sent = row.sent()?;
        let decision = match row.decided_by {
            Some(by) => Some(Decision { by, at: required(row.decided_at, "decided_at")?, sent }),
            None => None,
        };
        Ok(Self {
            id: row.id,
            text: row.text,
            state: row.state,
            based_on_seq: row.based_on_seq,
            turn: row.turn_id,
            decision,
            created_at: row.created_at,
        })
    }
}
