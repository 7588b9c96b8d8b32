//! Drafts: what the assistant suggests.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{At, Beside, DraftStateWord, Id, Said, basic::Word};
use crate::{domain::draft, flow::desk, http::names::Names};

/// A suggestion for what our side says next. Nothing of it is sent unless a person sends it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Draft {
    id: Id,
    conversation_id: Id,
    /// As the assistant wrote it.
    text: String,
    /// `stale`: something was said that it has not read. `sent` as written, `edited` sent changed.
    state: DraftStateWord,
    /// The number of the newest message that it has read.
    based_on_seq: i64,
    turn_id: Id,
    /// The message that was made of it, or the first of its parts.
    message_id: Option<Id>,
    /// Who sent or discarded it.
    decided_by: Option<String>,
    decided_at: Option<At>,
    /// How many words were taken out, put in or replaced before it was sent: words as Unicode cuts them, marks of
    /// punctuation among them.
    edit_distance: Option<i64>,
    created_at: At,
}

impl Draft {
    /// A draft of that conversation.
    pub(crate) fn of(conversation: Uuid, draft: draft::Draft) -> Self {
        let sent = draft.decision.as_ref().and_then(|decision| decision.sent);
        let (decided_by, decided_at) = draft.decision.map(|decision| (decision.by, At(decision.at))).unzip();
        Self {
            id: Id(draft.id),
            conversation_id: Id(conversation),
            text: draft.text,
            state: Word(draft.state),
            based_on_seq: draft.based_on_seq,
            turn_id: Id(draft.turn),
            message_id: sent.map(|sent| Id(sent.message)),
            decided_by,
            decided_at,
            edit_distance: sent.map(|sent| sent.edit_distance),
            created_at: At(draft.created_at),
        }
    }
}

/// A draft is to be written.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DraftAsked {
    conversation_id: Id,
    /// The id that it will have.
    draft_id: Id,
}

impl DraftAsked {
    /// Of that conversation, under that id.
    pub(crate) const fn new(conversation: Uuid, draft: Uuid) -> Self {
        Self { conversation_id: Id(conversation), draft_id: Id(draft) }
    }
}

/// The message that was made of a draft, what it did to the assistant, and the draft as it is now.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DraftSent {
    #[serde(flatten)]
    said: Said,
    draft: Draft,
}

impl DraftSent {
    /// None if nothing was said.
    pub(crate) fn of(
        said: desk::Posted,
        draft: draft::Draft,
        names: &Names,
        beside: &Beside,
    ) -> Option<Self> {
        let conversation = said.conversation;
        Some(Self { said: Said::first_of(said, names, beside)?, draft: Draft::of(conversation, draft) })
    }
}
