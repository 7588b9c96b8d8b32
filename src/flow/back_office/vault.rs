//! Place: what seals secrets for rest, and opens them again.

/// The place.
pub trait Vault: Send + Sync {
    /// Seals; None if the system provides no random bytes.
    fn seal(&self, plain: &[u8]) -> Option<Vec<u8>>;

    /// Opens what was sealed; None if no key does, or it was tampered with.
    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>>;
}
