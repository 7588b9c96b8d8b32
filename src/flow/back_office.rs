//! The office around the conversations: who works here, for which numbers, and what they have changed.
//!
//! Places, each a trait with an adapter behind it, and the rules of signing in.

pub mod registry;

pub mod people;

pub mod sign_in;

pub mod labels_and_replies;

pub mod idempotency_keys;

pub mod audit;

pub mod vault;
