//! The files of a server on SQLite: what becomes of them beside it, and that it says so.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use serde_json::json;

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_file_that_is_gone_is_said_and_nothing_is_taken_in_until_it_is_back() {
    let program = Program::on_sqlite();
    let (database, moved) = (database_of(&program), program.file("moved.db"));
    let server = program.serves(&["--ai-provider", "none"]);
    server.hears(CHAT, "Hello").await;
    let next = json!({ "chat_id": CHAT, "text": "Anyone?" });
    fs::rename(&database, &moved).expect("moved");
    for another in [false, true] {
        if another {
            fs::write(&database, "another one").expect("written");
        }
        let (status, ready) = server.answer("GET", "/readyz", None).await;
        assert_eq!((status, &ready["database"]), (503, &json!("down")), "{another}");
        assert_eq!(server.answer("POST", "/webhooks/sandbox", Some(&next)).await.0, 503, "{another}");
    }
    fs::rename(&moved, &database).expect("moved back");
    assert_eq!(server.answer("GET", "/readyz", None).await.0, 200);
    server.asks("POST", "/webhooks/sandbox", Some(&next)).await;

    fs::remove_file(&database).expect("removed");
    assert_eq!(server.answer("GET", "/readyz", None).await.0, 503);
    let is_told = |line: &str| line.contains("ERROR") && line.contains(path_of(&database));
    let told = server.logs(2, is_told).await;
    assert_eq!(told.len(), 2, "once for each time: {told:?}");
    // As it says: what is open still can be copied back.
    let open = told[1].split([' ', ',', '"']).find(|word| word.starts_with("/proc/")).expect("a place");
    fs::copy(open, &database).expect("copied");
    assert_eq!(server.answer("GET", "/readyz", None).await.0, 503, "it is not the one that is open");
    drop(server);
    assert_eq!(program.serves(&["--ai-provider", "none"]).messages(CHAT).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_to_a_database_leads_to_its_lock_and_to_its_key() {
    let mut program = Program::on_sqlite();
    let server = program.serves(&["--ai-provider", "none"]);
    let backup = program.backs_up("baton.backup", &[]);
    symlink(database_of(&program), program.file("link.db")).expect("linked");
    let url = format!("sqlite://{}", program.file("link.db").display());
    program.set("BATON_DATABASE_URL", &url);
    // Whatever would write alone takes the lock first.
    let said = program.says(&["restore", path_of(&backup)]);
    assert!(said.code == Some(1) && said.error.contains("another server works on this database"), "{said:?}");
    program.set("BATON_BACKUP_PASSPHRASE", "correct horse battery");
    program.backs_up("locked", &["--with-secrets"]);
    drop(server);
    drop(program.serves(&["--ai-provider", "none"]));
    assert!(!program.file("link.key").exists() && !program.file("link.db.lock").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_file_that_is_missed_is_named_and_no_command_makes_another() {
    let program = Program::on_sqlite();
    drop(program.serves(&["--ai-provider", "none"]));
    let key = database_of(&program).with_extension("key");
    let old = fs::read(&key).expect("a key");
    fs::remove_file(&key).expect("removed");
    for words in [&["check"][..], &["connect"], &["secret-key", "rotate"], &["erase", CHAT, "--yes"]] {
        let said = program.says(words);
        assert!(!key.exists(), "{words:?}: {said:?}");
        let told = format!("{}{}", said.out, said.error);
        assert!(said.code == Some(1) && told.contains(path_of(&key)), "{words:?}: {told}");
    }
    let missed =
        |log: Vec<String>| log.into_iter().any(|line| line.contains("ERROR") && line.contains(path_of(&key)));
    assert!(missed(program.serves(&["--ai-provider", "none"]).log()), "and it serves");
    fs::write(&key, old).expect("put back");
    assert!(!missed(program.serves(&["--ai-provider", "none"]).log()));
    assert!(
        !missed(Program::on_sqlite().serves(&["--ai-provider", "none"]).log()),
        "the first one is missed by nobody"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_tries_whether_anything_can_be_written() {
    let mut program = Program::on_sqlite();
    drop(program.serves(&["--ai-provider", "none"]));
    let line = |program: &Program| {
        let told = program.says(&["check"]).out;
        told.lines().find(|line| line.contains(" database ")).unwrap_or_default().to_owned()
    };
    assert!(line(&program).starts_with("ok"), "{}", line(&program));
    program.set("BATON_DATABASE_URL", &format!("{}?mode=ro", program.url()));
    assert!(line(&program).starts_with("wrong"), "{}", line(&program));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_from_a_pipe_says_that_it_wants_a_file() {
    let (from, to) = (Program::on_sqlite(), Program::on_sqlite());
    drop(from.serves(&["--ai-provider", "none"]));
    let whole = fs::read(from.backs_up("baton.backup", &[])).expect("a backup");
    for place in ["-", "/dev/stdin"] {
        let mut restore = to.command(&["restore", place]);
        let restore = restore.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut restore = restore.spawn().expect("it starts");
        // It may end before it has read anything.
        let _ = restore.stdin.take().expect("piped").write_all(&whole);
        let Output { status, stderr, .. } = restore.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&stderr);
        assert!(status.code() == Some(1) && told.contains("write it to a file first"), "{place}: {told}");
    }
}
