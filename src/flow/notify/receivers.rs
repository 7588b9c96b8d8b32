//! Place: those outside who receive events, as far as they can be reached.

use async_trait::async_trait;
use bytes::Bytes;

use crate::domain::endpoint::Attempt;

/// What is posted to an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parcel {
    /// The address to post to.
    pub url: String,
    /// The same at every attempt.
    pub id: String,
    /// Seconds since the epoch.
    pub timestamp: i64,
    /// By each secret of the endpoint.
    pub signature: String,
    /// JSON.
    pub body: Bytes,
}

/// The place.
#[async_trait]
pub trait Receivers: Send + Sync {
    /// Why such an address is never posted to; None: it may be. Where its name leads is asked at each attempt.
    fn refuses(&self, url: &str) -> Option<String>;

    /// Whether such an address is posted to only because the settings name its host, which may be inside the network.
    fn is_named(&self, url: &str) -> bool;

    /// Posts once, and waits for the answer.
    async fn post(&self, parcel: Parcel) -> Attempt;
}
