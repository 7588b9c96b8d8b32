//! The key next to a SQLite file: made at the first start, replaced when it is changed, for its owner alone.
//!
//! In: the place. Out: one key, or two while one is being replaced, as `BATON_SECRET_KEY` would say them.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use anyhow::Context as _;

use super::vault::{KEY_BYTES, Key, random};
use crate::{
    adapters::{
        backup::PartFile,
        sqlite::{cure, leave_to_owner},
    },
    config::SecretKeys,
};

/// The file, and how it was when it was last read.
#[derive(Debug)]
pub(super) struct KeyFile {
    path: PathBuf,
    seen: Mutex<Option<Seen>>,
}

/// What differs as soon as another file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    inode: u64,
    changed: (i64, i64),
}

impl Seen {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self { inode: found.ino(), changed: (found.mtime(), found.mtime_nsec()) })
    }
}

impl KeyFile {
    /// In that place, where there need not be one yet.
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path, seen: Mutex::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Its keys. The first is made if there is no file.
    pub(super) fn keys(&self) -> anyhow::Result<Vec<Key>> {
        if !self.exists() {
            let made = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.path);
            match made {
                Ok(mut file) => {
                    leave_to_owner(&file, &self.path);
                    writeln!(file, "{}", hex::encode(random::<KEY_BYTES>()?))?;
                    file.sync_all()?;
                }
                // Another command made it at the same moment.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let told =
                        with_cure(format!("cannot make the key file {}", self.path.display()), &self.path);
                    return Err(error).context(told);
                }
            }
        }
        self.read()
    }

    /// Its keys, if it is another one than when it was last read.
    pub(super) fn changed(&self) -> Option<Vec<Key>> {
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if Seen::of(&self.path) == seen {
            return None;
        }
        let read = self.read();
        if let Err(error) = &read {
            tracing::error!(
                error = format!("{error:#}"),
                "the key file cannot be read; its last keys stay in use"
            );
        }
        read.ok()
    }

    /// Puts these keys in the place of what is there, for whom that was: the server may run as another user than this
    /// command. A crash leaves the one or the other.
    pub(super) fn replace(&self, keys: &[Key]) -> anyhow::Result<()> {
        let file = PartFile::begin(&self.path, true)?;
        if let Ok(old) = fs::metadata(&self.path) {
            file.take_after(&old).with_context(|| {
                let (place, owner, group) = (self.path.display(), old.uid(), old.gid());
                format!("the key file {place} belongs to user {owner}, group {group}: run this as that user")
            })?;
        }
        writeln!(&file, "{}", text_of(keys))?;
        file.end()?;
        Ok(())
    }

    fn read(&self) -> anyhow::Result<Vec<Key>> {
        // Before: what is put there meanwhile is read the next time.
        let seen = Seen::of(&self.path);
        let text = fs::read_to_string(&self.path).with_context(|| {
            with_cure(format!("cannot read the key file {}", self.path.display()), &self.path)
        })?;
        let keys: Option<SecretKeys> = text.trim().parse().ok();
        let keys = keys.with_context(|| {
            format!(
                "{} does not hold 64 hexadecimal digits, or two such, comma-separated",
                self.path.display()
            )
        })?;
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
        Ok(keys.expose().to_vec())
    }
}

/// What went wrong with a file, and what to do if it is somebody else's.
pub(super) fn with_cure(told: String, path: &Path) -> String {
    cure(path).map_or(told.clone(), |cure| format!("{told} ({cure})"))
}

/// Keys as a setting says them.
pub(super) fn text_of(keys: &[Key]) -> String {
    keys.iter().map(hex::encode).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::{app::vault::Vault, flow::back_office::vault::Vault as _};

    #[test]
    fn a_key_is_made_once_and_one_put_in_its_place_is_seen() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("baton.key");
        let file = KeyFile::at(path.clone());
        let made = file.keys().expect("made");
        assert_eq!((made.len(), file.keys().expect("read"), file.changed()), (1, made.clone(), None));
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let both = [[5; 32], made[0]];
        KeyFile::at(path.clone()).replace(&both).expect("replaced");
        assert_eq!(file.changed().as_deref(), Some(&both[..]));
        assert_eq!(file.changed(), None);
        fs::write(&path, "nonsense").expect("written");
        assert!(file.keys().is_err() && file.changed().is_none());
    }

    #[test]
    fn keys_that_are_replaced_stay_with_their_owner() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("baton.key");
        let file = KeyFile::at(path.clone());
        let made = file.keys().expect("made");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("its own");
        // Only root can give a file away, and only root runs this beside the server of another user.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(65_534), Some(65_534)).expect("given away");
        }
        let whose = || {
            let found = fs::metadata(&path).expect("there");
            (found.uid(), found.gid(), found.mode() & 0o777)
        };
        let before = whose();
        file.replace(&[[5; 32], made[0]]).expect("replaced");
        assert_eq!((whose(), file.keys().expect("read").len()), (before, 2));
    }

    #[test]
    fn a_running_server_knows_a_key_that_is_made_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = || KeyFile::at(folder.path().join("baton.key"));
        let running = file();
        let before = running.keys().expect("made");
        let running = Vault::of_file(running, &before).expect("a vault");
        let sealed_before = running.seal(b"token").expect("sealed");
        file().replace(&[[5; 32], before[0]]).expect("replaced");
        let new = Vault::new(&[[5; 32]]).expect("a vault");
        assert_eq!(running.open(&new.seal(b"other").expect("sealed")).as_deref(), Some(&b"other"[..]));
        assert_eq!(running.open(&sealed_before).as_deref(), Some(&b"token"[..]));
        assert_eq!(new.open(&running.seal(b"token").expect("sealed")).as_deref(), Some(&b"token"[..]));
    }
}
