//! Deterministic tools against races.

pub mod atomic_mode_check;

pub mod redis_lock;

pub mod key_store;

pub mod broadcast;

pub mod redis_server;
