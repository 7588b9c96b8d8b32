//! Who owns the files of a database, and what to do where that is in the way: a command that root runs while the server of
//! another user is running must leave none that the server cannot open.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{MetadataExt as _, fchown},
    path::Path,
};

use rustix::{
    fs::{Access, access},
    io::Errno,
    process::geteuid,
};

const ROOT: u32 = 0;

/// What root has made there is given to the owner of the folder, as SQLite does with its own files.
pub(crate) fn leave_to_owner(file: &File, path: &Path) {
    if let Err(error) = give(file, path) {
        tracing::debug!(%error, path = %path.display(), "the file stays with root");
    }
}

fn give(file: &File, path: &Path) -> io::Result<()> {
    let folder = fs::metadata(folder_of(path))?;
    if file.metadata()?.uid() == ROOT && folder.uid() != ROOT {
        fchown(file, Some(folder.uid()), Some(folder.gid()))?;
    }
    Ok(())
}

/// What to do where that file cannot be used, if its owner or its mode is why, or those of its folder.
pub(crate) fn cure(path: &Path) -> Option<String> {
    [path, folder_of(path)].into_iter().find_map(|path| {
        let (place, user) = (path.display(), geteuid().as_raw());
        match access(path, Access::WRITE_OK) {
            Err(Errno::ACCESS) => match fs::metadata(path).ok()?.uid() {
                owner if owner == user => Some(format!("{place} may not be written: `chmod u+w` it")),
                owner => Some(format!(
                    "{place} belongs to user {owner}, and this runs as user {user}: run it as that user, or `chown` it"
                )),
            },
            Err(Errno::ROFS) => Some(format!("{place} is on a disk that may only be read: mount it for writing")),
            Ok(()) | Err(_) => None,
        }
    })
}

/// The folder of that file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::chown, sync::Arc};

    use super::*;
    use crate::{
        adapters::sqlite::{ServerLock, Sqlite},
        flow::clock::StoreClock,
    };

    #[tokio::test]
    async fn what_root_makes_in_a_folder_of_somebody_elses_is_theirs() {
        let folder = tempfile::tempdir().expect("a folder");
        // Only root can give the folder away; for anybody else, all is theirs anyway.
        if rustix::process::geteuid().is_root() {
            chown(folder.path(), Some(65_534), Some(65_534)).expect("given away");
        }
        let owner = fs::metadata(folder.path()).expect("a folder").uid();
        let url = format!("sqlite://{}", folder.path().join("baton.db").display());
        let store = Sqlite::connect(&url, Arc::new(StoreClock)).await.expect("opened");
        let _lock = ServerLock::take(store.path()).expect("free");
        store.migrate().await.expect("migrated");
        let files = fs::read_dir(folder.path()).expect("a folder").map(|entry| entry.expect("a file"));
        let owners: Vec<u32> = files.map(|file| file.metadata().expect("a file").uid()).collect();
        assert!(owners.len() >= 3 && owners.iter().all(|uid| *uid == owner), "{owners:?}, not all {owner}");
    }
}
