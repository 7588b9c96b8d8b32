//! The files of a server on SQLite: what becomes of them beside it, and that it says so.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::program::{Program, path_of};

const CHAT: &str = "6580000001@c.us";

/// The file of its database.
fn database_of(program: &Program) -> PathBuf {
    program.url().strip_prefix("sqlite://").expect("a file").into()
}

/// A file beside it.
fn beside(database: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path_of(database)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_writes_over_an_earlier_backup_and_over_nothing_else() {
    let program = Program::on_sqlite();
    let database = database_of(&program);
    let server = program.serves(&["--ai-provider", "none"]);
    server.hears(CHAT, "Hello").await;
    let notes = program.file("notes");
    fs::write(&notes, "Call Mei back.").expect("written");
    symlink(&database, program.file("link")).expect("linked");
    let (key, lock) = (database.with_extension("key"), beside(&database, ".lock"));
    let holds =
        || (fs::read(&key).expect("a key"), fs::read(&notes).expect("notes"), fs::metadata(&database));
    let (key_before, notes_before, file_before) = holds();
    let inode =
        |found: std::io::Result<fs::Metadata>| std::os::unix::fs::MetadataExt::ino(&found.expect("there"));
    for place in [
        &database,
        &key,
        &lock,
        &notes,
        &program.file("link"),
        &beside(&database, "-wal"),
        &beside(&database, "-journal"),
    ] {
        let said = program.says(&["backup", path_of(place), "--force"]);
        assert_eq!(said.code, Some(1), "{}: {said:?}", place.display());
        assert!(said.error.contains(path_of(place)), "{said:?}");
    }
    let (key_after, notes_after, file_after) = holds();
    assert!(
        key_after == key_before && notes_after == notes_before && inode(file_after) == inode(file_before)
    );
    assert!(!beside(&database, "-journal").exists());
    program.backs_up("baton.backup", &[]);
    fs::write(program.file("empty"), "").expect("written");
    for name in ["baton.backup", "empty"] {
        program.backs_up(name, &["--force"]);
    }
    drop(server);
    assert_eq!(program.serves(&["--ai-provider", "none"]).messages(CHAT).await.len(), 1);
}
