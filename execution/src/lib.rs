#![doc = include_str!("../README.md")]

pub mod atomic_mode_check;

pub mod redis_lock;

pub mod deduplicate_webhook;

pub mod key_store;

pub mod broadcast;

pub mod redis_server;
