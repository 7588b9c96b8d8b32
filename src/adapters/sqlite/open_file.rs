//! The file that is open, and whether it is still where it was opened. SQLite carries on with a file that has lost its name,
//! and what is written to it is gone with the process.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

/// A file, by its place and by what it is.
#[derive(Debug)]
pub(super) struct OpenFile {
    path: PathBuf,
    given: PathBuf,
    is: Identity,
    is_missed: AtomicBool,
}

/// Device and inode: another file in the same place differs.
type Identity = (u64, u64);

impl OpenFile {
    /// The file at that path, by its place past all links: so what belongs next to it is the same by whichever link.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let given = path.to_owned();
        let path = fs::canonicalize(path)?;
        let is = identity(&path)?;
        Ok(Self { path, given, is, is_missed: AtomicBool::new(false) })
    }

    /// The key of the file: next to it, or next to the link by which it was opened, where earlier versions have put it.
    pub(super) fn key(&self) -> PathBuf {
        let [beside_it, beside_the_link] = [&self.path, &self.given].map(|path| path.with_extension("key"));
        if !beside_it.exists() && beside_the_link.exists() { beside_the_link } else { beside_it }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses if it is not in its place any more, and says so once.
    pub(super) fn require(&self) -> Result<(), sqlx::Error> {
        let is_missed = identity(&self.path).ok() != Some(self.is);
        if self.is_missed.swap(is_missed, Ordering::SeqCst) != is_missed {
            self.tell(is_missed);
        }
        if is_missed {
            let told = format!("the database file {} was moved, removed or replaced", self.path.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, told).into());
        }
        Ok(())
    }

    fn tell(&self, is_missed: bool) {
        let path = self.path.display();
        if !is_missed {
            tracing::info!("the database file {path} is in its place again");
            return;
        }
        let copies: Vec<String> = self.still_open().collect();
        let copy = match copies.is_empty() {
            true => String::new(),
            false => format!(
                "; if it was removed, before this server ends copy {}, then restart",
                copies.join(" and ")
            ),
        };
        tracing::error!(
            "the database file {path} was moved, removed or replaced, and nothing is stored: move it back, and the server \
             resumes{copy}"
        );
    }

    /// Where the system shows it, and its log with the newest commits, for as long as they are open without a name; and where
    /// each belongs.
    fn still_open(&self) -> impl Iterator<Item = String> {
        let shown = fs::read_dir(format!("/proc/{}/fd", std::process::id()));
        let places: BTreeMap<PathBuf, PathBuf> = shown
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| Some((fs::read_link(entry.path()).ok()?, entry.path())))
            .collect();
        ["", "-wal"].into_iter().filter_map(move |ending| {
            let place = format!("{}{ending}", self.path.display());
            let open = places.get(Path::new(&format!("{place} (deleted)")))?;
            Some(format!("{} to {place}", open.display()))
        })
    }
}

fn identity(path: &Path) -> io::Result<Identity> {
    let found = fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        adapters::{sqlite::Sqlite, test_stores::NOW},
        flow::clock::ManualClock,
    };

    #[test]
    fn a_key_beside_the_link_is_taken_where_none_is_beside_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| fs::canonicalize(folder.path()).expect("a folder").join(name);
        fs::create_dir(at("data")).expect("made");
        fs::write(at("data/baton.db"), "").expect("written");
        std::os::unix::fs::symlink(at("data/baton.db"), at("link.db")).expect("linked");
        let file = OpenFile::at(&at("link.db")).expect("opened");
        assert_eq!(file.key(), at("data/baton.key"));
        fs::write(at("link.key"), "").expect("written");
        assert_eq!(file.key(), at("link.key"), "an earlier version has put it there");
        fs::write(at("data/baton.key"), "").expect("written");
        assert_eq!(file.key(), at("data/baton.key"));
    }

    #[tokio::test]
    async fn a_log_without_its_database_is_written_over_by_nobody() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let (url, clock) = (format!("sqlite:{}", at("baton.db").display()), Arc::new(ManualClock::at(NOW)));
        fs::write(at("baton.db-wal"), "what was written last").expect("written");
        let refused = Sqlite::connect(&url, clock.clone()).await.expect_err("refused").to_string();
        assert!(refused.contains("put the database back"), "{refused}");
        assert!(!at("baton.db").exists() && at("baton.db-wal").exists());
        fs::remove_file(at("baton.db-wal")).expect("removed");
        Sqlite::connect(&url, clock).await.expect("a new one").close().await;
    }
}
