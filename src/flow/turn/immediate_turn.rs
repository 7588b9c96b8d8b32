//! Step: a message that is ripe as it comes begins its turn in the transaction that stores it.
//!
//! In: dockets into which intake has just put a message. Out: turns that run here, as those that the loops begin.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::Turns;
use crate::{
    domain::{docket::Docket, policy::Policy},
    flow::{
        inbox::{self, Begun, Claimant},
        instance::channels::Channel,
        ledger::{Error, Key, Work},
    },
};

/// A turn that did not run to its end for the store's sake is looked at again after this.
const AGAIN_MS: i64 = 500;

/// The step.
#[derive(Clone)]
pub struct ImmediateTurn {
    /// What runs them.
    pub turns: Arc<Turns>,
    /// Steps in hand.
    pub tasks: TaskTracker,
    /// Where they run: a task that is spawned by a request would stay on its thread.
    pub runtime: Handle,
    /// Nothing begins any more.
    pub stop: CancellationToken,
}

impl ImmediateTurn {
    /// The claimant that would answer a message that is stored now.
    pub fn claimant(&self) -> Claimant {
        self.turns.claimant(false)
    }

    /// Begins the turn, if the message just stored need not wait for anything.
    pub fn begin(&self, docket: &mut Docket, policy: &Policy, claimant: &Claimant) -> Option<Box<Begun>> {
        if self.stop.is_cancelled() {
            return None;
        }
        inbox::claim_at_once(docket, policy, claimant)
    }

    /// Runs the turn that has begun in a transaction of whose end nobody has heard, if it was committed.
    pub fn run_unheard(&self, key: Key, claimant: Claimant) {
        let start = self.clone();
        let look = async move {
            match start.turns.begun_unheard(key, claimant).await {
                Ok(Some((channel, begun))) => start.run(&channel, begun),
                Ok(None) | Err(Error::Gone) => {}
                Err(error) => {
                    tracing::debug!(%error, "whether a turn has begun with its message is not known");
                }
            }
        };
        self.tasks.spawn_on(look, &self.runtime);
    }

    /// Runs a turn that has begun.
    pub fn run(&self, channel: &Arc<Channel>, begun: Box<Begun>) {
        let (turns, channel, conversation) =
            (Arc::clone(&self.turns), Arc::clone(channel), begun.conversation);
        let run = async move {
            if let Err(error) = turns.answer_begun(&channel, begun).await {
                tracing::debug!(%error, "a turn waits for the store");
                turns.dispatch.queue(Work::Turn).set(conversation, Some(AGAIN_MS));
            }
        };
        self.tasks.spawn_on(run, &self.runtime);
    }
}
