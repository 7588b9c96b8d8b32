//! Place: what people have at hand when they answer: labels and canned replies.

use async_trait::async_trait;
use uuid::Uuid;

use crate::{
    domain::{canned_reply::CannedReply, label::Label},
    flow::{
        archive::{Page, PageOf},
        ledger::Error,
    },
};

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// It is kept.
    Kept,
    /// Another one is called so, case aside.
    Taken,
    /// There is nothing to change.
    Gone,
}

/// Most canned replies of one owner, and most shared ones: all of them are looked through for a shortcut.
pub const REPLIES_MAX: usize = 500;

/// Most labels there are: a name is looked for among all of them, and one behind a limit of the list would be out of reach.
pub const LABELS_KEPT_MAX: usize = 1_000;

/// What became of a new label, or of a new canned reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddOutcome {
    /// It is kept.
    Kept,
    /// There is one of that name; of that shortcut, with its owner or among those that are shared.
    Taken,
    /// There are [`LABELS_KEPT_MAX`], or they have [`REPLIES_MAX`].
    TooMany,
}

/// Which canned replies somebody sees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplyFilter {
    /// Their own, besides those that are shared.
    pub owner: Option<Uuid>,
    /// Of those that are shared, those of any of these channels; None: all.
    pub channels: Option<Vec<String>>,
}

/// What to change of a label. What is left out stays, also what somebody else changes at the same moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelChange {
    /// What it is called.
    pub name: Option<String>,
    /// Its colour, or none.
    pub colour: Option<Option<String>>,
    /// What it is for, or nothing.
    pub description: Option<Option<String>>,
}

impl LabelChange {
    /// The label with it.
    pub fn apply(self, label: &mut Label) {
        if let Some(name) = self.name {
            label.name = name;
        }
        if let Some(colour) = self.colour {
            label.colour = colour;
        }
        if let Some(description) = self.description {
            label.description = description;
        }
    }
}

/// What to change of a canned reply; the same holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplyChange {
    /// By what it is found.
    pub shortcut: Option<String>,
    /// What it says.
    pub text: Option<String>,
    /// On which channels, or on all.
    pub channels: Option<Option<Vec<String>>>,
    /// Only while it is for some of these channels and for no other. None: whatever it is for.
    pub within: Option<Vec<String>>,
}

impl ReplyChange {
    /// The reply with it.
    pub fn apply(self, reply: &mut CannedReply) {
        if let Some(shortcut) = self.shortcut {
            reply.shortcut = shortcut;
        }
        if let Some(text) = self.text {
            reply.text = text;
        }
        if let Some(channels) = self.channels {
            reply.channels = channels;
        }
    }
}

/// The place.
#[async_trait]
pub trait LabelsAndReplies: Send + Sync {
    /// All labels, by name.
    async fn labels(&self) -> Result<Vec<Label>, Error>;

    /// A new label.
    async fn add_label(&self, label: &Label) -> Result<AddOutcome, Error>;

    /// Changes the label of that id: by another name it is called so on every conversation.
    async fn change_label(&self, id: Uuid, change: &LabelChange) -> Result<ChangeOutcome, Error>;

    /// Removes a label, from every conversation too. False if there is none.
    async fn remove_label(&self, id: Uuid) -> Result<bool, Error>;

    /// Canned replies that somebody sees, by shortcut.
    async fn canned_replies(&self, filter: &ReplyFilter, page: &PageOf) -> Result<Page<CannedReply>, Error>;

    /// One of them, whoever's it is.
    async fn canned_reply(&self, id: Uuid) -> Result<Option<CannedReply>, Error>;

    /// The one with that shortcut, case aside, of that owner, or of those that are shared.
    async fn canned_reply_called(
        &self,
        owner: Option<Uuid>,
        shortcut: &str,
    ) -> Result<Option<CannedReply>, Error>;

    /// A new one.
    async fn add_canned_reply(&self, reply: &CannedReply) -> Result<AddOutcome, Error>;

    /// Changes the one of that id, if there is one within those channels.
    async fn change_canned_reply(&self, id: Uuid, change: &ReplyChange) -> Result<ChangeOutcome, Error>;

    /// Removes one. False if there is none, or none that is for some of these channels and for no other; None: whatever it
    /// is for.
    async fn remove_canned_reply(&self, id: Uuid, within: Option<&[String]>) -> Result<bool, Error>;
}
