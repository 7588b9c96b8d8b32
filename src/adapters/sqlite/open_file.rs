//! The file that is open, and whether it still lies where it was opened. SQLite goes on with a file that has lost its name,
//! and what is written to it is gone with the process.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

/// A file, by its place and by what it is.
#[derive(Debug)]
pub(super) struct OpenFile {
    path: PathBuf,
    is: Identity,
    is_missed: AtomicBool,
}

/// Device and inode: another file in the same place differs.
type Identity = (u64, u64);

impl OpenFile {
    /// The file that lies there, by its place past all links: so what belongs beside it is the same by whichever link.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(path)?;
        let is = identity(&path)?;
        Ok(Self { path, is, is_missed: AtomicBool::new(false) })
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
        let copy = self.still_open().map_or_else(String::new, |open| {
            format!(
                "; if it was removed, copy {} there before this server ends, then start anew",
                open.display()
            )
        });
        tracing::error!(
            "the database file {path} was moved, removed or replaced, and nothing is taken in: move it back, and this goes \
             on{copy}"
        );
    }

    /// Where the system shows it for as long as it is open, whatever has become of its name.
    fn still_open(&self) -> Option<PathBuf> {
        let shown = PathBuf::from(format!("/proc/{}/fd", std::process::id()));
        let mut open = fs::read_dir(shown).ok()?.flatten().map(|entry| entry.path());
        open.find(|path| identity(path).ok() == Some(self.is))
    }
}

fn identity(path: &Path) -> io::Result<Identity> {
    let found = fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}
