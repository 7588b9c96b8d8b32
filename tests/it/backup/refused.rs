//! What is refused, each with one line, and what is left as it was.

use std::{io::Write as _, os::unix::fs::PermissionsExt as _};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sqlx::{Connection as _, Executor as _};

use super::{Program, into_the_other_store, path_of};

into_the_other_store!(
    a_backup_goes_only_whole_and_only_into_an_empty_database,
    a_restore_that_was_cut_off_is_begun_anew
);

/// Fails with this line and nothing else.
fn refuses(program: &Program, words: &[&str], line: &str) {
    let said = program.says(words);
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{words:?}: {said:?}");
    // What the log tells is another matter.
    let told: Vec<&str> = said.error.lines().filter(|line| !line.starts_with('{')).collect();
    assert!(told.len() == 1 && told[0].contains(line), "{words:?}: {told:?}");
}

/// The same file with another head, as if another program had made it.
fn of_another_version(file: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let text = std::io::read_to_string(flate2::read::GzDecoder::new(file)).expect("text");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut head: Value = serde_json::from_str(&lines[0]).expect("JSON");
    change(&mut head);
    lines[0] = head.to_string();
    let mut trailer: Value = serde_json::from_str(&lines.pop().expect("an end")).expect("JSON");
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    trailer["sha256"] = hex::encode(Sha256::digest(&body)).into();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    writeln!(gzip, "{body}{trailer}").expect("written");
    gzip.finish().expect("ended")
}

async fn a_backup_goes_only_whole_and_only_into_an_empty_database(from: Program, to: Program) {
    refuses(&to, &["restore", "nowhere"], "baton: nowhere: No such file or directory");
    if from.url().starts_with("sqlite") {
        refuses(&from, &["backup", "made"], "there is no database at");
    }
    let server = from.serves(&["--ai-provider", "none"]);
    server.hears("6580000001@c.us", "Hello").await;
    let path = from.backs_up("baton.backup", &[]);
    drop(server);
    refuses(&from, &["backup", "baton.backup"], "is there already; --force writes over it");
    from.does(&["backup", "baton.backup", "--force"]);
    assert_eq!(std::fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    let by_pipe = from.command(&["backup", "-"]).output().expect("it runs");
    assert!(by_pipe.status.success());
    assert!(
        String::from_utf8_lossy(&by_pipe.stderr).contains("messages"),
        "told where it is in nobody's way"
    );
    let whole = std::fs::read(&path).expect("there");

    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(to.file(name), bytes).expect("written");
    };
    write("cut", &whole[..whole.len() / 2]);
    let mut bent = whole.clone();
    bent[whole.len() / 2] ^= 1;
    write("bent", &bent);
    write(
        "newer",
        &of_another_version(&whole, |head| {
            head["schema"] = 1_000.into();
            head["version"] = "9.1.0".into();
        }),
    );
    refuses(&to, &["restore", "cut"], "cut: this backup is not whole, and nothing of it is used: ");
    refuses(&to, &["restore", "bent"], "bent: this backup is not whole, and nothing of it is used: ");
    refuses(&to, &["restore", "newer"], "this backup was made by Baton 9.1.0, whose tables are newer");
    write("other", b"something else");
    refuses(&to, &["restore", "other"], "other: this is not a backup of Baton");
    to.does(&["restore", path_of(&path)]);
    let full = "this database is not empty, and a backup goes only into an empty one: it holds channels (1), agents (1), \
                conversations (1), ";
    refuses(&to, &["restore", path_of(&path)], full);
    refuses(&to, &["restore", path_of(&path), "--again"], full);
    write("older", &of_another_version(&whole, |head| head["schema"] = 1.into()));
    let mut empty = Program::on_sqlite();
    empty.set("BATON_SECRET_KEY", &"5e".repeat(32));
    empty.does(&["migrate"]);
    let older = to.file("older");
    refuses(&empty, &["restore", path_of(&older)], "the tables of this database are newer than the backup");
    write("piped", &by_pipe.stdout);
    empty.does(&["restore", path_of(&to.file("piped"))]);
    from.end().await;
    to.end().await;
}

/// Runs a statement on a database from beside it.
async fn run(url: &str, statement: &'static str) {
    if url.starts_with("sqlite") {
        let mut connection = sqlx::SqliteConnection::connect(url).await.expect("the file opens");
        connection.execute(statement).await.expect("it runs");
        connection.close().await.expect("closed");
    } else {
        let mut connection = sqlx::PgConnection::connect(url).await.expect("the server answers");
        connection.execute(statement).await.expect("it runs");
        connection.close().await.expect("closed");
    }
}

async fn a_restore_that_was_cut_off_is_begun_anew(from: Program, to: Program) {
    let server = from.serves(&["--ai-provider", "none"]);
    server.hears("6580000001@c.us", "Hello").await;
    let path = from.backs_up("baton.backup", &[]);
    drop(server);
    to.does(&["restore", path_of(&path)]);
    // As a process leaves it that is killed before its last step, with some of the rows.
    run(&to.url(), "update installation set generation = 'restoring'").await;
    run(&to.url(), "delete from messages").await;
    let half = "a restore into this database did not finish";
    for words in
        [&["serve"][..], &["migrate"], &["backup", "other"], &["token", "list"], &["secret-key", "rotate"]]
    {
        refuses(&to, words, half);
    }
    refuses(&to, &["restore", path_of(&path)], "`--again` empties it and begins anew");
    let check = to.says(&["check"]);
    assert!(check.code == Some(1) && check.out.contains("holds only a part of a backup"), "{check:?}");
    to.does(&["restore", path_of(&path), "--again"]);
    let server = to.serves(&["--ai-provider", "none"]);
    assert_eq!(server.messages("6580000001@c.us").await.len(), 1);
    drop(server);
    from.end().await;
    to.end().await;
}
