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
//! *Steps* move things: intake, poll, repair, turn, sender, mode_switch, desk, merge, tend, reconcile, restored, media and
//! notify. *Places* are where things rest: inbox, outbox, conversations, agenda, reply and drafts are rules over a docket,
//! run inside the ledger, as are office_hours and spending; ledger, archive, generator and provider are traits with an
//! adapter behind them, and places is all of them that one database is. The journal, notes and the clock are what these read
//! and write.
//!
//! What belongs to one of these is in the folder of its name: what the model hears and may do is under generator. What stands
//! around a message's path has three folders: back_office (who works here, and for which numbers), forgetting (erasure and
//! retention), and instance (what one process keeps for itself: its queues, the gate before the model, the turns that run,
//! breakers, onlookers).

pub mod intake;

pub mod poll;

pub mod repair;

pub mod inbox;

pub mod office_hours;

pub mod spending;

pub mod turn;

pub mod generator;

pub mod reply;

mod notes;

pub mod outbox;

pub mod sender;

pub mod provider;

pub mod media;

pub mod reconcile;

pub mod mode_switch;

pub mod desk;

pub mod conversations;

pub mod merge;

pub mod agenda;

pub mod drafts;

pub mod tend;

pub mod clock;

pub mod ledger;

pub mod places;

pub mod archive;

pub mod restored;

pub mod journal;

pub mod notify;

pub mod forgetting;

pub mod back_office;

pub mod instance;

#[cfg(test)]
pub(crate) mod play;

#[cfg(test)]
mod model_checking;

#[cfg(test)]
mod tests;
