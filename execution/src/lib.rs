//! Deterministic tools against races.

pub mod atomic_mode_check;

pub mod redis_server;
