//! What is due in the conversations of a process, and one step of it.

use std::{collections::HashSet, sync::Arc};

use baton::flow::{
    instance::{channels::Channels, dispatch::Dispatch},
    ledger::{self, Due, Ledger, Work},
    sender::{self, Sender},
    tend::Tend,
    turn::{self, Turns},
};
use tokio::sync::Notify;
use uuid::Uuid;

pub(super) type Step = (Work, Uuid);

const WORK: [Work; 4] = [Work::Turn, Work::Send, Work::FollowUp, Work::Tend];

/// The steps of one process.
pub(super) struct Steps {
    pub(super) turns: Arc<Turns>,
    pub(super) sender: Arc<Sender>,
    pub(super) tend: Tend,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) channels: Arc<Channels>,
    pub(super) dispatch: Arc<Dispatch>,
    pub(super) nudge: Notify,
}

impl Steps {
    pub(super) async fn found(&self, work: Work) -> Vec<Due> {
        self.ledger.due(work, &self.channels.names(), 500).await.expect("the store answers")
    }

    pub(super) async fn due(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for work in WORK {
            steps.extend(self.found(work).await.into_iter().map(|due| (work, due.conversation)));
        }
        steps
    }

    /// The first that is due, beside those.
    pub(super) async fn next(&self, in_vain: &HashSet<Step>) -> Option<Step> {
        for work in WORK {
            let mut steps = self.found(work).await.into_iter().map(|due| (work, due.conversation));
            if let Some(step) = steps.find(|step| !in_vain.contains(step)) {
                return Some(step);
            }
        }
        None
    }

    /// True if there was anything to do.
    pub(super) async fn run(&self, (work, conversation): Step) -> bool {
        let outcome = match work {
            Work::Turn => self.answer(conversation).await.map(|it| matches!(it, turn::Outcome::Worked(_))),
            Work::FollowUp => {
                self.turns.follow_up(conversation).await.map(|it| matches!(it, turn::Outcome::Worked(_)))
            }
            Work::Send => self.sender.send(conversation).await.map(|it| it == sender::Outcome::Worked),
            Work::Tend => self.tend.tend(conversation).await,
        };
        outcome.expect("the store answers")
    }

    /// Somebody who died may have left the lock in front behind: it is looked at again, and then the database decides.
    pub(super) async fn answer(&self, conversation: Uuid) -> Result<turn::Outcome, ledger::Error> {
        match self.turns.answer(conversation, false).await {
            Ok(turn::Outcome::LeftToHolder) => self.turns.answer(conversation, true).await,
            outcome => outcome,
        }
    }
}
