//! What is forgotten: a person who is erased, and what is older than is kept.
//!
//! Steps: erase and retention. Places: erasures and expiry, traits with an adapter behind them; a tombstone is what keeps late
//! news of somebody who was erased from bringing them back.

pub mod erase;

pub mod erasures;

pub mod tombstones;

pub mod retention;

pub mod expiry;
