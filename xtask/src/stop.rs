//! Whether we were told to stop, by Ctrl-C or SIGTERM. Servers are then stopped in order, instead of being left to die
//! with us.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::Result;
use signal_hook::consts::{SIGINT, SIGTERM};

/// The wish, once it was heard.
#[derive(Clone)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens from now on.
    pub(crate) fn listen() -> Result<Self> {
        let stop = Self(Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&stop.0))?;
        }
        Ok(stop)
    }

    /// Whether somebody wants us to stop.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
