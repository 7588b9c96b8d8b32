//! Passwords: hashed with Argon2id, on threads of their own, a few at once. In: a password. Out: what is kept of it, or
//! whether it is the right one.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use argon2::{
    Argon2,
    password_hash::{PasswordHasher as _, PasswordVerifier as _},
};
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

/// Hashes at once on this instance: each takes a core for some thirty milliseconds, and 19 MiB.
const AT_ONCE: usize = 2;

/// How long a caller waits for their turn before they are told to come again.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Too many others want the same.
    #[error("too many passwords are being checked")]
    Busy,
    /// The machine gives no memory or no random bytes.
    #[error("the machine cannot hash a password")]
    Machine,
}

/// Hashes and compares.
#[derive(Debug, Clone)]
pub struct Passwords {
    turns: Arc<Semaphore>,
}

impl Default for Passwords {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Passwords {
    /// What is kept of a password: a PHC string, with its parameters and a salt of its own.
    pub async fn hash(&self, password: String) -> Result<String, Error> {
        self.work(move || hash(&password)).await?
    }

    /// Whether it is the password of that hash. Without a hash it never is, which takes as long to find out.
    pub async fn is_right(&self, password: String, hash: Option<String>) -> Result<bool, Error> {
        self.work(move || {
            let kept = match &hash {
                Some(hash) => hash.as_str(),
                None => nobodys()?,
            };
            let is_right = Argon2::default().verify_password(password.as_bytes(), kept).is_ok();
            Ok(is_right && hash.is_some())
        })
        .await?
    }

    /// A turn is held until the work is done, even if the caller goes away.
    async fn work<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let turn = timeout(PATIENCE, Arc::clone(&self.turns).acquire_owned()).await;
        let turn = turn.map_err(|_| Error::Busy)?.map_err(|_| Error::Machine)?;
        let worked = spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        worked.await.map_err(|_| Error::Machine)
    }
}

fn hash(password: &str) -> Result<String, Error> {
    let hashed = Argon2::default().hash_password(password.as_bytes());
    hashed.map(|hash| hash.to_string()).map_err(|_| Error::Machine)
}

/// The hash of a password that nobody has, made as all others are.
fn nobodys() -> Result<&'static str, Error> {
    static NOBODYS: OnceLock<String> = OnceLock::new();
    if let Some(hash) = NOBODYS.get() {
        return Ok(hash);
    }
    let made = hash(&super::fresh_secret().map_err(|_| Error::Machine)?)?;
    Ok(NOBODYS.get_or_init(|| made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_known_by_its_hash_and_nothing_else_is() {
        let passwords = Passwords::default();
        let kept = passwords.hash("correct horse".to_owned()).await.expect("hashed");
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        assert_ne!(
            passwords.hash("correct horse".to_owned()).await.expect("hashed"),
            kept,
            "each has its salt"
        );
        for (password, hash, wanted) in [
            ("correct horse", Some(kept.clone()), true),
            ("Correct horse", Some(kept), false),
            ("correct horse", Some("no hash".to_owned()), false),
            ("correct horse", None, false),
        ] {
            let told = passwords.is_right(password.to_owned(), hash).await.expect("compared");
            assert_eq!(told, wanted, "{password}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_too_long_for_a_turn_is_told_so() {
        let passwords = Passwords::default();
        let all = u32::try_from(AT_ONCE).expect("few");
        let _taken = passwords.turns.acquire_many(all).await.expect("free");
        assert_eq!(passwords.hash("correct horse".to_owned()).await, Err(Error::Busy));
    }
}
