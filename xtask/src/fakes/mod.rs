//! What pretended gateways and models are made of, and those who speak with Baton: plain HTTP, names that survive in any
//! text, and the bodies of webhooks and completions.

pub(crate) mod wire;

pub(crate) mod names;

pub(crate) mod webhooks;

pub(crate) mod completions;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A panic elsewhere leaves nothing half changed in what is kept here.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
