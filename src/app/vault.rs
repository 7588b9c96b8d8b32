//! Secrets at rest: sealed with the installation's key, opened with any key that is still valid.

use std::sync::{PoisonError, RwLock};

use anyhow::Context as _;
use argon2::{Algorithm, Argon2, Params, Version};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use super::key_file::KeyFile;
use crate::{
    adapters::backup::Resealed,
    config::Passphrase,
    flow::back_office::vault::{self, Vault as _},
};

/// Says how the rest was sealed.
const VERSION: u8 = 1;

/// Keys: the first seals, all open.
pub(super) struct Vault {
    keys: RwLock<Vec<LessSafeKey>>,
    /// Where they may change while this runs.
    file: Option<KeyFile>,
}

/// A key is 32 bytes.
pub(super) const KEY_BYTES: usize = 32;

/// A key as it is set, kept, and given away.
pub(super) type Key = [u8; KEY_BYTES];

/// How a passphrase becomes a key: Argon2id, with this much memory (KiB), this many passes and lanes. Anyone who has the file
/// may guess for years; the person who restores waits a moment.
const BY: (&str, u32, u32, u32) = ("argon2id m=65536 t=3 p=1", 65_536, 3, 1);

impl Vault {
    /// With these keys; None without any.
    pub(super) fn new(keys: &[Key]) -> Option<Self> {
        Some(Self { keys: RwLock::new(ready(keys)?), file: None })
    }

    /// With the keys of a file, which are read again when it changes.
    pub(super) fn of_file(file: KeyFile, keys: &[Key]) -> Option<Self> {
        Some(Self { keys: RwLock::new(ready(keys)?), file: Some(file) })
    }

    /// With the key that a passphrase and a salt make. Takes a moment, and 64 MiB.
    pub(super) fn of_passphrase(passphrase: &Passphrase, salt: &[u8], by: &str) -> Option<Self> {
        let (word, memory, passes, lanes) = BY;
        let params = Params::new(memory, passes, lanes, Some(KEY_BYTES)).ok().filter(|_| by == word)?;
        let mut key = [0; KEY_BYTES];
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(passphrase.expose().as_bytes(), salt, &mut key)
            .ok()?;
        Self::new(&[key])
    }

    /// By which words a passphrase becomes a key now.
    pub(super) const fn by() -> &'static str {
        BY.0
    }

    /// Where its keys come from, as people know it.
    pub(super) fn source(&self) -> String {
        let file = self.file.as_ref();
        file.map_or("BATON_SECRET_KEY".to_owned(), |file| format!("the key file {}", file.path().display()))
    }

    /// What is to take the place of what was sealed, so that the first key alone opens it.
    pub(super) fn reseal(&self, sealed: &[u8]) -> Resealed {
        match self.open_by(sealed) {
            Some((0, _)) => Resealed::Kept,
            Some((_, plain)) => self.seal(&plain).map_or(Resealed::Unopened, Resealed::Anew),
            None => Resealed::Unopened,
        }
    }

    /// With the number of the key that opened it.
    fn open_by(&self, sealed: &[u8]) -> Option<(usize, Vec<u8>)> {
        let rest = sealed.strip_prefix(&[VERSION])?;
        let (nonce, rest) = rest.split_first_chunk::<NONCE_LEN>()?;
        self.read().iter().enumerate().find_map(|(number, key)| {
            let mut plain = rest.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let length = key.open_in_place(nonce, Aad::from([VERSION]), &mut plain).ok()?.len();
            plain.truncate(length);
            Some((number, plain))
        })
    }

    /// A key that was made while the server is running is known to it before anything is sealed with it.
    fn look_again(&self) {
        let changed = self.file.as_ref().and_then(KeyFile::changed);
        if let Some(keys) = changed.as_deref().and_then(ready) {
            *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Vec<LessSafeKey>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl vault::Vault for Vault {
    // With the first key, under a fresh nonce.
    fn seal(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.look_again();
        let nonce = random::<NONCE_LEN>().ok()?;
        let mut sealed = plain.to_vec();
        self.read()
            .first()?
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from([VERSION]), &mut sealed)
            .ok()?;
        Some([&[VERSION][..], &nonce, &sealed].concat())
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let opened = self.open_by(sealed).or_else(|| {
            self.look_again();
            self.open_by(sealed)
        });
        opened.map(|(_, plain)| plain)
    }
}

/// Bytes that nobody can guess.
pub(super) fn random<const N: usize>() -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).context("the system provides no random bytes")?;
    Ok(bytes)
}

/// Keys, for sealing and opening; None without any.
fn ready(keys: &[Key]) -> Option<Vec<LessSafeKey>> {
    let keys = keys.iter().map(|key| UnboundKey::new(&CHACHA20_POLY1305, key).map(LessSafeKey::new));
    keys.collect::<Result<Vec<_>, _>>().ok().filter(|keys| !keys.is_empty())
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vault({} keys)", self.read().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_with_its_key_and_with_no_other() {
        let old = Vault::new(&[[1; KEY_BYTES]]).expect("a vault");
        let new = Vault::new(&[[2; KEY_BYTES], [1; KEY_BYTES]]).expect("a vault");
        let other = Vault::new(&[[3; KEY_BYTES]]).expect("a vault");
        let sealed = old.seal(b"token").expect("sealed");
        assert!(!sealed.windows(5).any(|window| window == b"token"));
        assert_eq!(new.open(&sealed).as_deref(), Some(&b"token"[..]), "a key that was replaced still opens");
        assert_eq!(old.open(&new.seal(b"token").expect("sealed")), None, "the new one seals");
        assert_eq!(other.open(&sealed), None);
    }

    #[test]
    fn what_an_older_key_sealed_is_sealed_anew_and_nothing_else_is() {
        let old = Vault::new(&[[1; KEY_BYTES]]).expect("a vault");
        let new = Vault::new(&[[2; KEY_BYTES], [1; KEY_BYTES]]).expect("a vault");
        let alone = Vault::new(&[[2; KEY_BYTES]]).expect("a vault");
        let Resealed::Anew(sealed) = new.reseal(&old.seal(b"token").expect("sealed")) else {
            panic!("it was sealed with the old one")
        };
        assert_eq!(alone.open(&sealed).as_deref(), Some(&b"token"[..]));
        assert_eq!(new.reseal(&sealed), Resealed::Kept);
        assert_eq!(alone.reseal(&old.seal(b"token").expect("sealed")), Resealed::Unopened);
    }

    #[test]
    fn a_passphrase_opens_what_it_sealed_with_its_salt_and_by_words_that_are_known() {
        let words: Passphrase = "correct horse battery".parse().expect("long enough");
        let others: Passphrase = "correct horse batterie".parse().expect("long enough");
        let vault = |words, salt: &[u8], by| Vault::of_passphrase(words, salt, by);
        let sealed = vault(&words, &[7; 16], Vault::by()).and_then(|it| it.seal(b"keys")).expect("sealed");
        let opened = |words, salt: u8| vault(words, &[salt; 16], Vault::by())?.open(&sealed);
        assert_eq!(opened(&words, 7).as_deref(), Some(&b"keys"[..]));
        assert_eq!((opened(&others, 7), opened(&words, 8)), (None, None));
        assert!(vault(&words, &[7; 16], "argon2id m=8 t=1 p=1").is_none());
    }

    #[test]
    fn what_was_tampered_with_does_not_open() {
        let vault = Vault::new(&[[1; KEY_BYTES]]).expect("a vault");
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
