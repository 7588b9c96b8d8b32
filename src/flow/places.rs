//! Place: every trait that a database implements except the ledger, bundled for the wiring.

use super::{
    answers::Answers,
    archive::{Archive, EventFeed, Statistics, UnknownSends},
    audit::Audit,
    enclosures::Enclosures,
    endpoints::Endpoints,
    erasures::{Erasures, TombstoneKeys},
    expiry::Expiry,
    idempotency_keys::IdempotencyKeys,
    labels_and_replies::LabelsAndReplies,
    pace::Starts,
    people::People,
    registry::{Registry, Tokens},
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

impl<T> Places for T where
    T: Answers
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
