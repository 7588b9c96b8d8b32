//! The drafts of a docket: the fresh one, and the one that the step asked for.

use uuid::Uuid;

use super::Docket;
use crate::domain::draft::Draft;

impl Docket {
    /// A draft: the fresh one, one written here, or the one asked for.
    pub fn draft(&self, id: Uuid) -> Option<&Draft> {
        self.drafts.iter().find(|draft| draft.id == id)
    }

    /// The fresh one.
    pub fn fresh_draft(&self) -> Option<&Draft> {
        self.drafts.iter().find(|draft| draft.is_fresh())
    }

    /// Puts in a draft, or overwrites it by its id. The fresh one before it must have ended.
    pub fn keep_draft(&mut self, draft: Draft) {
        self.dirty.drafts.insert(draft.id);
        self.drafts.retain(|other| other.id != draft.id);
        debug_assert!(
            !draft.is_fresh() || self.fresh_draft().is_none(),
            "at most one draft of a conversation is fresh"
        );
        self.drafts.push(draft);
        self.conversation.memo.draft = self.fresh_draft().map(|fresh| fresh.id);
    }
}
