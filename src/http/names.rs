//! The names of agents, as they are shown beside what they did: read once for all who look, and again after seconds.

use std::{collections::HashMap, sync::Arc, time::Instant};

use tokio::sync::Mutex;
use uuid::Uuid;

use super::auth::REMEMBERED;
use crate::flow::people::People;

/// All of them, at one moment.
#[derive(Debug, Default)]
pub struct Names(HashMap<Uuid, String>);

impl Names {
    /// The name of an agent; empty for an id that is nobody's.
    pub(super) fn of(&self, agent: Uuid) -> String {
        self.0.get(&agent).cloned().unwrap_or_default()
    }
}

/// Knows them. What this instance changes shows at once, what another changes within [`REMEMBERED`].
pub struct Directory {
    people: Arc<dyn People>,
    known: Mutex<Known>,
}

/// Names, and when they were read; None if they must be read again.
#[derive(Default)]
struct Known {
    at: Option<Instant>,
    names: Arc<Names>,
}

impl Directory {
    /// Over that place.
    pub fn new(people: Arc<dyn People>) -> Self {
        Self { people, known: Mutex::default() }
    }

    /// The names as they are. One asks for all who wait, and a store that is away leaves those that were known: nothing
    /// fails for want of a name.
    pub async fn names(&self) -> Arc<Names> {
        let mut known = self.known.lock().await;
        if known.at.is_none_or(|at| at.elapsed() >= REMEMBERED) {
            let at = Instant::now();
            match self.people.agents().await {
                Ok(all) => {
                    let names = all.into_iter().map(|agent| (agent.id, agent.name));
                    known.names = Arc::new(Names(names.collect()));
                }
                Err(error) => tracing::debug!(%error, "names of agents were not read this time"),
            }
            known.at = Some(at);
        }
        Arc::clone(&known.names)
    }

    /// They are others now.
    pub async fn forget(&self) {
        self.known.lock().await.at = None;
    }
}
