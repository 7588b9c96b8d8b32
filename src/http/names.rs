//! What is shown with messages and is not in them: the names of agents, read once for all who look, and again after
//! seconds; and whether a file is available.

use std::{collections::HashMap, sync::Arc, time::Instant};

use tokio::sync::Mutex;
use uuid::Uuid;

use super::auth::REMEMBERED;
use crate::{
    domain::message::Message,
    flow::{
        back_office::people::People,
        media::{Fetching, files::Availability},
    },
};

/// All of them, at one moment.
pub struct Names {
    agents: HashMap<Uuid, String>,
    fetching: Arc<Fetching>,
}

impl Names {
    /// The name of an agent; empty for an id that is nobody's.
    pub(super) fn of(&self, agent: Uuid) -> String {
        self.agents.get(&agent).cloned().unwrap_or_default()
    }

    /// Whether the file of a message is available; None: it has none.
    pub(super) fn standing(&self, message: &Message) -> Option<Availability> {
        self.fetching.standing(message)
    }
}

/// Knows them. What this instance changes shows at once, what another changes within seconds.
pub struct Directory {
    people: Arc<dyn People>,
    fetching: Arc<Fetching>,
    known: Mutex<Known>,
}

/// Names, and when they were read; None if they must be read again.
struct Known {
    at: Option<Instant>,
    names: Arc<Names>,
}

impl Directory {
    /// Over that place, and with what knows of files.
    pub fn new(people: Arc<dyn People>, fetching: Arc<Fetching>) -> Self {
        let names = Arc::new(Names { agents: HashMap::new(), fetching: Arc::clone(&fetching) });
        Self { people, fetching, known: Mutex::new(Known { at: None, names }) }
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
                    let fetching = Arc::clone(&self.fetching);
                    known.names = Arc::new(Names { agents: names.collect(), fetching });
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
