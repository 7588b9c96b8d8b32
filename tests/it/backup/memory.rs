//! However much a database holds, a backup and a restore hold a little of it at a time.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use sqlx::{Connection as _, Executor as _};

use super::{Program, into_the_other_store, path_of};

into_the_other_store!(a_backup_and_a_restore_hold_a_little_at_a_time);

/// The database holds more than this many bytes, of a kind that does not pack.
const HELD: u64 = 64 * 1024 * 1024;

/// And a process may hold this much of it. Whoever held all of it would need more than three times as much.
const MOST: u64 = 72 * 1024 * 1024;

/// 256 letters of 256 KiB, each from the numbers that its database makes up.
const OF_SQLITE: &str = "with recursive n (i) as (select 1 union all select i + 1 from n where i < 256) \
    insert into dead_letters (id, kind, channel, state, reason, attempts, first_at, last_at, payload) \
    select 'l' || i, 'webhook', 'shop', 'discarded', 'no_json', 1, 1, 1, '\"' || hex(randomblob(131072)) || '\"' from n";

const OF_POSTGRES: &str = "insert into dead_letters (id, kind, channel, state, reason, attempts, first_at, last_at, payload) \
    select 'l' || i, 'webhook', 'shop', 'discarded', 'no_json', 1, 1, 1, \
        (select '\"' || string_agg(md5(i::text || j::text), '') || '\"' from generate_series(1, 8192) j) \
    from generate_series(1, 256) i";

/// Runs it to its end, and tells the most memory that it ever held.
fn most_held(mut command: Command) -> u64 {
    let mut process = command.stdout(Stdio::null()).spawn().expect("it starts");
    let status = format!("/proc/{}/status", process.id());
    let mut most = 0;
    loop {
        let told = std::fs::read_to_string(Path::new(&status)).unwrap_or_default();
        let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        most = most.max(kib.unwrap_or(0) * 1024);
        if let Some(ended) = process.try_wait().expect("it can be asked") {
            assert!(ended.success());
            return most;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

async fn a_backup_and_a_restore_hold_a_little_at_a_time(from: Program, to: Program) {
    // Elsewhere a process does not tell what it holds.
    if !Path::new("/proc/self/status").exists() {
        return;
    }
    from.does(&["migrate"]);
    if from.url().starts_with("sqlite") {
        let mut connection = sqlx::SqliteConnection::connect(&from.url()).await.expect("the file opens");
        connection.execute(OF_SQLITE).await.expect("filled");
        connection.close().await.expect("closed");
    } else {
        let mut connection = sqlx::PgConnection::connect(&from.url()).await.expect("the server answers");
        connection.execute(OF_POSTGRES).await.expect("filled");
        connection.close().await.expect("closed");
    }
    let file = from.file("baton.backup");
    let most = most_held(from.command(&["backup", path_of(&file)]));
    assert!(std::fs::metadata(&file).expect("there").len() > HELD / 2, "hexadecimal digits pack to a half");
    eprintln!("{} MiB", most / 1024 / 1024);
    assert!((1..MOST).contains(&most), "the backup held {} MiB", most / 1024 / 1024);
    let most = most_held(to.command(&["restore", path_of(&file)]));
    eprintln!("{} MiB", most / 1024 / 1024);
    assert!((1..MOST).contains(&most), "the restore held {} MiB", most / 1024 / 1024);
    from.end().await;
    to.end().await;
}
