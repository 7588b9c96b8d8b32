//! What fake gateways and models are made of, and those who speak with Baton: plain HTTP, names that survive in any
//! text, and the bodies of webhooks and completions.

pub(crate) mod wire;

pub(crate) mod names;

pub(crate) mod webhooks;

pub(crate) mod completions;

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// A panic elsewhere leaves nothing half changed in what is kept here.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the gateway says of the code that would link a phone: these phones are linked.
pub(crate) fn already_linked() -> Value {
    json!({ "type": "alreadyLogged", "message": "instance account already authorized" })
}
