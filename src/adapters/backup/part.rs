//! A file that is there whole or not at all: written next to its place, and put there once it is on the disk.

use std::{
    fs::{self, File, Metadata, TryLockError},
    io::{self, Write},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown},
    path::{Path, PathBuf},
};

use rustix::{fs::OFlags, process::geteuid};

/// A file on its way to its place. One that is dropped before its end leaves nothing.
#[derive(Debug)]
pub(crate) struct PartFile {
    file: File,
    part: PathBuf,
    place: PathBuf,
    replaces: bool,
    is_ended: bool,
}

impl PartFile {
    /// Begins next to that place, for its owner alone: customers' words are in it.
    pub(crate) fn begin(place: &Path, replaces: bool) -> io::Result<Self> {
        let mut part = place.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        refuse_taken(place, replaces)?;
        let file = open(&part).map_err(|error| named(&part, &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let told = format!("another one is being written to {}", part.display());
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, told));
            }
            Err(TryLockError::Error(error)) => return Err(named(&part, &error)),
        }
        // An unfinished one was here.
        file.set_len(0)?;
        file.set_permissions(<fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600))?;
        Ok(Self { file, part, place: place.to_owned(), replaces, is_ended: false })
    }

    /// Makes it the same owner's, with the same mode, as that one: who may read that may read this.
    pub(crate) fn take_after(&self, other: &Metadata) -> io::Result<()> {
        let own = self.file.metadata()?;
        if (own.uid(), own.gid()) != (other.uid(), other.gid()) {
            fchown(&self.file, Some(other.uid()), Some(other.gid()))?;
        }
        self.file.set_permissions(other.permissions())
    }

    /// Puts it in its place.
    pub(crate) fn end(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        refuse_taken(&self.place, self.replaces)?;
        fs::rename(&self.part, &self.place)?;
        self.is_ended = true;
        let folder = self.place.parent().filter(|folder| !folder.as_os_str().is_empty());
        // The name, too, is on the disk then.
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl Write for &PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&self.file).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&self.file).flush()
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_ended {
            // What cannot be removed is written over by the next one.
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// What lies there may be of one that was cut off, or a trap of whoever else may write in that folder: a link to a file of
/// root's, which would be emptied and given away, or a file of their own, in which they would read.
fn open(part: &Path) -> io::Result<File> {
    // Without a wait for the reader of a pipe.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut options = File::options();
    options.create(true).truncate(false).write(true).mode(0o600).custom_flags(flags);
    let file = options.open(part)?;
    let found = file.metadata()?;
    if !found.is_file() || found.nlink() != 1 || found.uid() != geteuid().as_raw() {
        let told = "it is not what an earlier command of this user has left; remove it";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, told));
    }
    Ok(file)
}

fn refuse_taken(place: &Path, replaces: bool) -> io::Result<()> {
    if !replaces && place.exists() {
        let told = format!("{} is there already; --force writes over it", place.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, told));
    }
    Ok(())
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

    use super::*;

    #[test]
    fn a_file_is_there_whole_or_not_at_all_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (place, part) = (folder.path().join("baton.backup"), folder.path().join("baton.backup.part"));
        fs::write(&part, "of one that was cut off, and longer").expect("written");
        let file = PartFile::begin(&place, false).expect("begun");
        (&file).write_all(b"whole").expect("written");
        assert!(!place.exists());
        let other = PartFile::begin(&place, false).expect_err("two at once");
        assert!(other.to_string().contains("another one is being written"), "{other}");
        file.end().expect("ended");
        assert_eq!(fs::read(&place).expect("there"), b"whole");
        assert_eq!(fs::metadata(&place).expect("there").permissions().mode() & 0o777, 0o600);
        assert!(!part.exists());

        let taken = PartFile::begin(&place, false).expect_err("taken");
        assert!(taken.to_string().ends_with("is there already; --force writes over it"), "{taken}");
        drop(PartFile::begin(&place, true).expect("begun"));
        assert_eq!((fs::read(&place).expect("there"), part.exists()), (b"whole".to_vec(), false));
    }

    #[test]
    fn what_another_file_is_reached_by_is_not_written_to() {
        let (folder, elsewhere) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("another"));
        let (place, part) = (folder.path().join("baton.key"), folder.path().join("baton.key.part"));
        let other = elsewhere.path().join("other");
        fs::write(&other, "of somebody else's").expect("written");
        fs::set_permissions(&other, fs::Permissions::from_mode(0o640)).expect("its own");
        for is_symbolic in [true, false] {
            let linked = if is_symbolic { symlink(&other, &part) } else { fs::hard_link(&other, &part) };
            linked.expect("linked");
            PartFile::begin(&place, true).expect_err("a link");
            fs::remove_file(&part).expect("it was there");
            assert_eq!(fs::read(&other).expect("there"), b"of somebody else's");
            assert_eq!(fs::metadata(&other).expect("there").permissions().mode() & 0o777, 0o640);
        }
        fs::write(&part, "in which they read").expect("written");
        // Only root writes in what is not root's, and only root can make such a file here.
        if geteuid().is_root() {
            chown(&part, Some(65_534), Some(65_534)).expect("given away");
            let theirs = PartFile::begin(&place, true).expect_err("another user's");
            assert!(theirs.to_string().ends_with("has left; remove it"), "{theirs}");
        }
    }
}
