//! Place: files that the provider keeps for us.
//!
//! In: an address, which came from outside and is not trusted. Out: the file, or a part of it, piece by piece; or why it is
//! unavailable.

pub mod kinds;

mod range;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::mpsc;

pub use self::{kinds::Looks, range::Range};
use crate::domain::words::words;

words! {
    /// Whether a file is available, as far as that is known.
    Availability {
        /// It is worth asking for.
        Available = "available",
        /// Where it is, nothing may be fetched from.
        HostNotAllowed = "host_not_allowed",
        /// It is larger than what the provider keeps, or we fetch.
        TooLarge = "too_large",
        /// The provider no longer has it.
        Gone = "gone",
    }
}

/// A file, or a part of it.
#[derive(Debug)]
pub struct File {
    /// How many bytes the whole has; None: nobody says.
    pub size: Option<u64>,
    /// Its first and last byte, if this is a part.
    pub part: Option<(u64, u64)>,
    /// What its first bytes show it to be.
    pub looks: Looks,
    /// Its bytes.
    pub pieces: mpsc::Receiver<Piece>,
}

impl File {
    /// How many bytes are to come.
    pub fn length(&self) -> Option<u64> {
        self.part.map_or(self.size, |(first, last)| Some(last - first + 1))
    }
}

/// A piece of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// What comes next.
    Part(Bytes),
    /// It is whole. Pieces that end without this were broken off.
    End,
}

/// Why there is no file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfetched {
    /// Nothing may be fetched from there, or from where that leads.
    #[error("the host is not allowed")]
    HostNotAllowed,
    /// It is gone, or the address no longer opens it.
    #[error("the file is gone")]
    Gone,
    /// It is larger than what is fetched.
    #[error("the file is too large")]
    TooLarge,
    /// It has no such part, but this many bytes, if that is known.
    #[error("the file has no such part")]
    NoSuchPart(Option<u64>),
    /// Too many are being fetched. Again soon.
    #[error("too many files are being fetched")]
    Busy,
    /// The server failed, or was too slow. Perhaps again.
    #[error("{0}")]
    Failed(String),
}

/// The place.
#[async_trait]
pub trait Files: Send + Sync {
    /// Whether anything may be fetched at all.
    fn are_fetched(&self) -> bool;

    /// Whether what is there may be fetched.
    fn allows(&self, url: &str) -> bool;

    /// Fetches it, or that part of it. A server that knows nothing of parts may give the whole.
    async fn fetch(&self, url: &str, range: Option<Range>) -> Result<File, Unfetched>;
}
