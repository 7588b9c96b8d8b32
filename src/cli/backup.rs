//! `baton backup`: everything in one file, while the server is running.

use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
    time::Instant,
};

use anyhow::{anyhow, bail};

use super::{password, print};
use crate::{
    app::{self, Destination, Saved},
    config::{Passphrase, Settings},
};

/// Write everything into one file, while the server is running
///
/// What comes while it is written is not in it. `baton restore` loads the file into either database. Customers' words are
/// in it in plain text; what is encrypted in the database (the channels' tokens) stays so, under the key of
/// BATON_SECRET_KEY or the file next to the database: keep that too, or take it along with --with-secrets.
#[derive(Debug, clap::Args)]
pub(super) struct Backup {
    /// Where to write it; `-` for stdout
    file: PathBuf,
    /// Overwrite an earlier backup that is there
    #[arg(long)]
    force: bool,
    /// Take the secret key along, locked with the words in BATON_BACKUP_PASSPHRASE, else asked for
    #[arg(long)]
    with_secrets: bool,
}

impl Backup {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let is_output = self.file.as_os_str() == "-";
        if is_output && io::stdout().is_terminal() {
            bail!("a backup cannot be written to a terminal: name a file, or redirect it with `|` or `>`");
        }
        let passphrase = if self.with_secrets { Some(passphrase(settings).await?) } else { None };
        let to = match is_output {
            true => Destination::Output,
            false => Destination::File { path: self.file.clone(), replaces: self.force },
        };
        let began = Instant::now();
        let saved = app::backup(settings, to, passphrase.as_ref()).await?;
        let told = told(&self.file.display().to_string(), &saved, began.elapsed().as_secs_f64());
        if is_output {
            eprint!("{told}");
            return Ok(());
        }
        print::text(&told)?;
        Ok(())
    }
}

async fn passphrase(settings: &Settings) -> anyhow::Result<Passphrase> {
    if let Some(words) = &settings.backup_passphrase {
        return Ok(words.clone());
    }
    let words = password::ask_for("Passphrase of the backup").await?;
    let wrong = |wrong: String| {
        anyhow!("the passphrase {wrong}: set it in BATON_BACKUP_PASSPHRASE, or type it when you are asked")
    };
    words.parse().map_err(wrong)
}

fn told(file: &str, saved: &Saved, seconds: f64) -> String {
    let rows: u64 = saved.rows.values().sum();
    #[allow(clippy::cast_precision_loss, reason = "to say how many times smaller it is")]
    let ratio = saved.plain_bytes as f64 / saved.bytes.max(1) as f64;
    format!(
        "{}\n{file}: {rows} rows, {} bytes ({ratio:.1} times smaller than its lines), {seconds:.1} s\n",
        by_table(&saved.rows),
        saved.bytes
    )
}

/// Rows by table, without those that have none.
pub(super) fn by_table(rows: &std::collections::BTreeMap<String, u64>) -> String {
    let rows = rows.iter().filter(|(_, rows)| **rows > 0);
    print::counts(rows.map(|(table, rows)| (table.replace('_', " "), rows)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_told_by_table_and_in_all() {
        let rows = [("dead_letters", 0), ("kept_answers", 2), ("messages", 1_000)];
        let rows = rows.map(|(table, rows)| (table.to_owned(), rows)).into();
        let saved = Saved { rows, plain_bytes: 7_000, bytes: 2_000 };
        assert_eq!(
            told("baton.backup", &saved, 0.26),
            "TABLE         ROWS\nkept answers  2\nmessages      1000\n\n\
             baton.backup: 1002 rows, 2000 bytes (3.5 times smaller than its lines), 0.3 s\n"
        );
    }
}
