//! What this instance knows of messages and turns beyond a single commit. What it has not seen itself, because another
//! instance did it, it reads in the archive; forgetting only costs that.

use std::{collections::HashMap, sync::Arc};

use uuid::Uuid;

use super::{dropped, exporter::Warnings};
use crate::{domain::time::Time, flow::archive::Archive};

/// How many messages or turns are remembered; then all are forgotten.
const KNOWN_MAX: usize = 20_000;

/// What is known.
pub(super) struct Known {
    archive: Arc<dyn Archive>,
    messages: HashMap<Uuid, Met>,
    turns: HashMap<Uuid, Vec<Uuid>>,
    warnings: Warnings,
}

/// A message of the contact.
#[derive(Debug, Clone, Copy)]
pub(super) struct Met {
    /// When it was accepted.
    pub(super) at: Time,
    /// Since when no turn is about it.
    pub(super) waits_since: Time,
    /// Its root has been sent: nothing sends it again.
    pub(super) is_told: bool,
}

impl Known {
    pub(super) fn new(archive: Arc<dyn Archive>) -> Self {
        Self { archive, messages: HashMap::new(), turns: HashMap::new(), warnings: Warnings::default() }
    }

    /// There is such a message of the contact.
    pub(super) fn meet(&mut self, message: Uuid, at: Time) -> &mut Met {
        if self.messages.len() >= KNOWN_MAX {
            self.messages.clear();
        }
        self.messages.entry(message).or_insert(Met { at, waits_since: at, is_told: false })
    }

    /// A turn is about these.
    pub(super) fn keep_turn(&mut self, turn: Uuid, messages: &[Uuid]) {
        if self.turns.len() >= KNOWN_MAX {
            self.turns.clear();
        }
        self.turns.insert(turn, messages.to_vec());
    }

    /// What a turn is about, the oldest first. Nothing, if no contact has asked for it, or if nobody can say.
    pub(super) async fn messages_of(&mut self, turn: Uuid) -> Vec<Uuid> {
        if let Some(messages) = self.turns.get(&turn) {
            return messages.clone();
        }
        match self.archive.turn(turn).await {
            Ok(found) => {
                let messages = found.map(|(_, _, turn)| turn.messages).unwrap_or_default();
                self.keep_turn(turn, &messages);
                messages
            }
            Err(error) => {
                self.lose(&error);
                Vec::new()
            }
        }
    }

    /// The message, if it is still there.
    pub(super) async fn find(&mut self, message: Uuid) -> Option<&mut Met> {
        if !self.messages.contains_key(&message) {
            match self.archive.message(message).await {
                Ok(found) => {
                    let at = found?.message.at;
                    self.meet(message, at);
                }
                Err(error) => {
                    self.lose(&error);
                    return None;
                }
            }
        }
        self.messages.get_mut(&message)
    }

    fn lose(&mut self, error: &dyn std::error::Error) {
        dropped(1);
        self.warnings.warn("what a trace is about cannot be read", error);
    }
}
