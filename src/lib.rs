//! Baton stands between a business's WhatsApp number and its AI, and never lets the two talk over a person.
//!
//! `domain` holds facts and rules, `flow` the life of a message from left to right, `adapters` everything outside,
//! `http` the doors, `app` the wiring. ARCHITECTURE.md walks one message through them.

pub mod domain;

pub mod flow;

pub mod adapters;

pub mod http;

pub mod worker;

pub mod simulator;

pub mod config;

pub mod telemetry;

pub mod metrics;

pub mod app;

pub mod cli;

#[cfg(test)]
mod house;
