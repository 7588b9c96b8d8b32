//! The life of a message, left to right.
//!
//! ```text
//!  webhook ─▶ intake ─▶ inbox ─▶ turn ─▶ reply ─▶ outbox ─▶ sender ─▶ provider ─▶ the contact
//!                         ▲     (generator)         ▲
//!                         │                         │
//!  a person ─▶ desk, mode_switch ── conversations ──┘◀── agenda (follow-ups)
//!                                                   ◀── reconcile (echoes, statuses)
//! ```
//!
//! *Steps* move things: intake, immediate_turn, poll, repair, turn, sender, mode_switch, desk, merge, tend, reconcile,
//! restored, sign_in, media, erase, retention, notify, the breakers of model and channels, and the brake on follow-ups.
//! *Places* are where things rest: inbox, outbox, conversations, agenda, reply, errands, drafts are rules over a docket, run
//! inside the ledger, as are office_hours and spending; ledger, archive, registry, people, labels_and_replies,
//! idempotency_keys, audit, enclosures, erasures, expiry, endpoints, receivers, vault, generator, look_ups, transcriber,
//! describer, provider, files, answers and the starts of pace are traits with an adapter behind them, and places is all of
//! them that one database is. Of one *instance*, and kept nowhere, are its dispatch with the queues, the gate before the
//! model, the turns that are running, its channels with their rules, and the onlookers who see words as they are written. The
//! rest is what these read and write: context and tools (what the model is told and may do), notes, tombstones, the journal,
//! the clock, and what is measured.

pub mod intake;

pub mod poll;

pub mod repair;

pub mod inbox;

pub mod flood;

pub mod office_hours;

pub mod spending;

pub mod immediate_turn;

pub mod turn;

mod context;

pub mod tools;

pub mod generator;

pub mod transcriber;

pub mod describer;

pub mod gate;

pub mod pace;

pub mod breaker;

pub mod model_breaker;

pub mod answers;

pub mod reply;

mod errands;

mod notes;

pub mod look_ups;

pub mod outbox;

pub mod sender;

pub mod channel_breaker;

pub mod provider;

pub mod enclosures;

pub mod files;

pub mod media;

pub mod reconcile;

pub mod mode_switch;

pub mod desk;

pub mod conversations;

pub mod merge;

pub mod agenda;

pub mod brake;

pub mod drafts;

pub mod tend;

pub mod clock;

pub mod ledger;

pub mod places;

pub mod archive;

pub mod registry;

pub mod people;

pub mod sign_in;

pub mod labels_and_replies;

pub mod idempotency_keys;

pub mod audit;

pub mod restored;

pub mod erasures;

pub mod tombstones;

pub mod erase;

pub mod expiry;

pub mod retention;

pub mod channels;

pub mod journal;

pub mod endpoints;

pub mod receivers;

pub mod notify;

pub mod vault;

pub mod onlookers;

pub mod dispatch;

pub mod queue;

pub mod overhead;

mod measure;

pub mod running;

#[cfg(test)]
pub(crate) mod play;

#[cfg(test)]
mod model_checking;

#[cfg(test)]
mod tests;
