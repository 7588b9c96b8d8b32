//! Place: every trait that a database implements except the ledger, bundled for the wiring.

use super::{
    archive::{Archive, EventFeed, Statistics, UnknownSends},
    back_office::{
        audit::Audit,
        idempotency_keys::IdempotencyKeys,
        labels_and_replies::LabelsAndReplies,
        people::People,
        registry::{Registry, Tokens},
    },
    forgetting::{
        erasures::{Erasures, TombstoneKeys},
        expiry::Expiry,
    },
    generator::cached_answers::Answers,
    instance::pace::Starts,
    media::enclosures::Enclosures,
    notify::endpoints::Endpoints,
    spending::Used,
};

/// A database: each place of it is asked for by its own trait.
pub trait Places:
    Answers
    + Archive
    + Audit
    + Enclosures
    + Endpoints
    + EventFeed
    + Expiry
    + Erasures
    + People
    + Registry
    + IdempotencyKeys
    + Starts
    + LabelsAndReplies
    + Statistics
    + Tokens
    + TombstoneKeys
    + UnknownSends
    + Used
{
}
