//! What the machine can do in this moment, whatever runs on it.
//!
//! In: the stand. Out: how long a durable write takes, how many durable commits PostgreSQL makes in a second, how many
//! webhooks a web server answers that does nothing with them.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt as _,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

use super::{
    book::Book,
    figures::{Figure, float, percentile, sorted_ms},
    generator::{Generator, order},
    loads::OPEN,
    stand::{Stand, WEBHOOK_TOKEN},
};
use crate::fakes::wire::Client;

const BLOCK: usize = 8_192;
/// As many connections as Baton has.
const PGBENCH_CLIENTS: &str = "16";

/// All of it, as far as there is what it takes.
pub(super) async fn measure(stand: &Stand) -> Result<Vec<Figure>> {
    let is_quick = stand.options.is_quick;
    let mut figures =
        vec![Figure::new("machine_fdatasync_p50_ms", fdatasync_ms(stand, if is_quick { 100 } else { 400 })?)];
    if let Some(commits) = commits_per_s(stand, if is_quick { "1" } else { "3" })? {
        figures.push(Figure::new("machine_commits_per_s", commits));
    }
    if let Some(answers) = bare_per_s(stand, if is_quick { 3_000 } else { 20_000 }).await? {
        figures.push(Figure::new("machine_bare_acks_per_s", answers));
    }
    Ok(figures)
}

/// The median of so many writes of a block, each made durable.
fn fdatasync_ms(stand: &Stand, times: usize) -> Result<f64> {
    let path = stand.folder.path().join("fdatasync");
    let file = File::create(&path)?;
    let block = [0x5a; BLOCK];
    let mut taken = Vec::with_capacity(times);
    for at in (0..).step_by(BLOCK).take(times) {
        let began = Instant::now();
        file.write_all_at(&block, at)?;
        file.sync_data()?;
        taken.push(began.elapsed());
    }
    fs::remove_file(path)?;
    Ok(percentile(&sorted_ms(&taken), 50))
}

/// One row inserted and committed after another, by as many connections as Baton has.
fn commits_per_s(stand: &Stand, seconds: &str) -> Result<Option<f64>> {
    let Some(postgres) = &stand.postgres else { return Ok(None) };
    let pgbench = stand.programs.postgres.join("pgbench");
    if !pgbench.is_file() {
        return Ok(None);
    }
    stand.sql(
        "postgres",
        "create table if not exists pgbench_rows (id bigint generated always as identity, text text)",
    )?;
    let script = stand.folder.path().join("insert.sql");
    fs::write(&script, "insert into pgbench_rows (text) values ('c1n1 is what I wanted to ask');\n")?;
    let mut command = Command::new(pgbench);
    command.args("-n -M prepared -j 2 -h 127.0.0.1 -U postgres".split(' '));
    command.args(["-c", PGBENCH_CLIENTS, "-T", seconds]);
    command.args(["-p", &postgres.server.port().to_string(), "-f"]).arg(&script).arg("postgres");
    let said = command.output().context("cannot run pgbench")?;
    if !said.status.success() {
        bail!("pgbench failed: {}", String::from_utf8_lossy(&said.stderr).trim());
    }
    Ok(tps(&String::from_utf8_lossy(&said.stdout)))
}

fn tps(said: &str) -> Option<f64> {
    let line = said.lines().find_map(|line| line.strip_prefix("tps = "))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Webhooks that a handler answers with nothing behind it, written by the same contacts.
async fn bare_per_s(stand: &Stand, webhooks: usize) -> Result<Option<f64>> {
    let Some(server) = stand.start_bare()? else { return Ok(None) };
    let book = Arc::new(Book::new());
    let client = Client::new(([127, 0, 0, 1], server.port()).into());
    let generator = Arc::new(Generator::new(Arc::clone(&book), client, "/", WEBHOOK_TOKEN));
    let began = Instant::now();
    generator.flood(order(webhooks, 1), OPEN).await?;
    let taken = began.elapsed().max(Duration::from_millis(1));
    let refused = book.take().refused;
    if refused > 0 {
        bail!("the bare handler refused {refused} webhooks");
    }
    Ok(Some(float(webhooks) / taken.as_secs_f64()))
}

/// What cannot be measured here, in words.
pub(super) fn what_is_missing(stand: &Stand) -> Vec<&'static str> {
    let mut missing = Vec::new();
    if stand.postgres.is_some() && !stand.programs.postgres.join("pgbench").is_file() {
        missing.push("there is no pgbench: machine_commits_per_s is left out");
    }
    if stand.postgres.is_some() && !stand.programs.count_statements() {
        missing.push("there is no pg_stat_statements: statements are left out");
    }
    if !stand.has_bare() {
        missing.push("beside this baton there is no examples/bare: machine_bare_acks_per_s is left out");
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_read_from_what_pgbench_says() {
        let said = "latency average = 1.2 ms\ntps = 3456.789012 (without initial connection time)\n";
        assert_eq!(tps(said), Some(3_456.789_012));
        assert_eq!(tps("nothing"), None);
    }
}
