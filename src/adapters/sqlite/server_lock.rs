//! One server at a time on one file: a lock next to the database, freed by the death of its holder.

use std::{
    fs::{File, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use super::leave_to_owner;

/// Held for as long as the server runs.
#[derive(Debug)]
pub struct ServerLock {
    _file: File,
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum AlreadyServing {
    /// Another one has the database.
    #[error("another server works on this database (it holds {})", .0.display())]
    Held(PathBuf),
    /// The lock file cannot be used.
    #[error("cannot lock {}", .0.display())]
    Unusable(PathBuf, #[source] io::Error),
}

impl ServerLock {
    /// Takes the lock next to that database. The file stays when it is freed: removing it would let two servers each
    /// hold a file of that name.
    pub fn take(database: &Path) -> Result<Self, AlreadyServing> {
        let mut path = database.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        let file = open(&path).map_err(|e| AlreadyServing::Unusable(path.clone(), e))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(AlreadyServing::Held(path)),
            Err(TryLockError::Error(e)) => Err(AlreadyServing::Unusable(path, e)),
        }
    }
}

/// Given away only as it is made: what is there already may be a link to a file of root's.
fn open(path: &Path) -> io::Result<File> {
    match File::options().create_new(true).write(true).mode(0o600).open(path) {
        Ok(file) => {
            leave_to_owner(&file, path);
            Ok(file)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => File::options().write(true).open(path),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{MetadataExt as _, chown, symlink},
    };

    use super::*;

    #[test]
    fn a_second_server_is_refused_until_the_first_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("baton.db");
        let first = ServerLock::take(&database).expect("free");
        assert!(matches!(ServerLock::take(&database), Err(AlreadyServing::Held(_))));
        let mode = fs::metadata(folder.path().join("baton.db.lock")).expect("it is there").mode();
        assert_eq!(mode & 0o777, 0o600, "nobody else on the machine can hold it");
        drop(first);
        ServerLock::take(&database).expect("free again");
    }

    #[test]
    fn what_lies_in_the_place_of_the_lock_is_not_given_to_whoever_has_the_folder() {
        let (folder, elsewhere) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("another"));
        let (database, other) = (folder.path().join("baton.db"), elsewhere.path().join("other"));
        fs::write(&other, "of somebody else's").expect("written");
        symlink(&other, folder.path().join("baton.db.lock")).expect("linked");
        let owner = fs::metadata(&other).expect("a file").uid();
        // Only root can give a folder away; nobody else could give the file away either.
        if rustix::process::geteuid().is_root() {
            chown(folder.path(), Some(65_534), Some(65_534)).expect("given away");
        }
        ServerLock::take(&database).expect("free");
        assert_eq!(fs::metadata(&other).expect("a file").uid(), owner);
    }
}
