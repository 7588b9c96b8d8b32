//! Secrets at rest: sealed with the installation's key, opened with any key that is still valid.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

/// Says how the rest was sealed.
const VERSION: u8 = 1;

/// Keys: the first seals, all open.
pub(super) struct Vault {
    keys: Vec<LessSafeKey>,
}

/// A key is 32 bytes.
pub(super) const KEY_BYTES: usize = 32;

impl Vault {
    /// With at least one key.
    pub(super) fn new(first: &[u8; KEY_BYTES], others: &[[u8; KEY_BYTES]]) -> Option<Self> {
        let keys = std::iter::once(first).chain(others);
        let keys = keys.map(|key| UnboundKey::new(&CHACHA20_POLY1305, key).map(LessSafeKey::new));
        Some(Self { keys: keys.collect::<Result<_, _>>().ok()? })
    }

    /// Seals with the first key, under a fresh nonce.
    pub(super) fn seal(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let mut sealed = plain.to_vec();
        self.keys
            .first()?
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from([VERSION]), &mut sealed)
            .ok()?;
        Some([&[VERSION][..], &nonce, &sealed].concat())
    }

    /// Opens what any of the keys has sealed; None if none has, or it was tampered with.
    pub(super) fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let rest = sealed.strip_prefix(&[VERSION])?;
        let (nonce, rest) = rest.split_first_chunk::<NONCE_LEN>()?;
        self.keys.iter().find_map(|key| {
            let mut plain = rest.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let length = key.open_in_place(nonce, Aad::from([VERSION]), &mut plain).ok()?.len();
            plain.truncate(length);
            Some(plain)
        })
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vault({} keys)", self.keys.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_with_its_key_and_with_no_other() {
        let old = Vault::new(&[1; KEY_BYTES], &[]).expect("a vault");
        let new = Vault::new(&[2; KEY_BYTES], &[[1; KEY_BYTES]]).expect("a vault");
        let other = Vault::new(&[3; KEY_BYTES], &[]).expect("a vault");
        let sealed = old.seal(b"token").expect("sealed");
        assert!(!sealed.windows(5).any(|window| window == b"token"));
        assert_eq!(new.open(&sealed).as_deref(), Some(&b"token"[..]), "a key that was replaced still opens");
        assert_eq!(old.open(&new.seal(b"token").expect("sealed")), None, "the new one seals");
        assert_eq!(other.open(&sealed), None);
    }

    #[test]
    fn what_was_tampered_with_does_not_open() {
        let vault = Vault::new(&[1; KEY_BYTES], &[]).expect("a vault");
        let sealed = vault.seal(b"token").expect("sealed");
        for at in 0..sealed.len() {
            let mut bent = sealed.clone();
            bent[at] ^= 1;
            assert_eq!(vault.open(&bent), None, "byte {at}");
        }
        assert_eq!(vault.open(&[]), None);
        assert_eq!(vault.open(&sealed[..5]), None);
    }
}
