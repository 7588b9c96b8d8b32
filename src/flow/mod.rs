//! The life of a message, left to right.

pub mod clock;

pub mod ledger;

pub mod archive;

pub mod registry;

pub mod generator;

pub mod provider;
