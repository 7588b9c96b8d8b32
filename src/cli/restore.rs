//! `baton restore`: a backup, taken into an empty database of either kind.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _},
    path::PathBuf,
    time::Instant,
};

use super::{backup::by_table, password, print};
use crate::{
    app::{self, Examined, LetIn, RestoreOptions, Restored},
    config::{Passphrase, Settings},
    flow::restored::Settled,
};

/// Load a backup into an empty database, of either kind
///
/// The file is checked before anything is written. Everybody has to sign in again. Since the server of the backup may have
/// kept running after it, nothing that was owed in it leaves by itself: see the summary at the end.
#[derive(Debug, clap::Args)]
pub(super) struct Restore {
    /// What `baton backup` wrote
    file: PathBuf,
    /// Empty a database in which an earlier restore did not finish, and start over
    #[arg(long)]
    again: bool,
    /// The server of the backup has not run since, as when moving to another database: what was owed leaves as usual
    #[arg(long)]
    moved: bool,
}

impl Restore {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let began = Instant::now();
        let examined = app::examine(&self.file)?;
        let passphrase = passphrase(&examined, settings).await?;
        let (made_at, version) = (examined.made_at(), examined.version().to_owned());
        let has_locked_keys = examined.has_keys() && passphrase.is_none();
        let leaves_locked = has_locked_keys && io::stdin().is_terminal();
        let options = RestoreOptions { again: self.again, moved: self.moved, leaves_locked };
        let restored = examined.restore(settings, options, passphrase.as_ref()).await?;
        let mut told = by_table(&restored.rows);
        let _ = writeln!(
            told,
            "\n{} holds the backup that Baton {version} made at {made_at}, {:.1} s",
            settings.database_url,
            began.elapsed().as_secs_f64()
        );
        told.push_str(&unfinished(restored.settled));
        told.push_str(&secrets(&restored, has_locked_keys));
        told.push_str(&let_in(&restored.let_in));
        print::text(&told)?;
        Ok(())
    }
}

/// The words that open the keys in it. Without them, they stay locked.
async fn passphrase(examined: &Examined, settings: &Settings) -> anyhow::Result<Option<Passphrase>> {
    if !examined.has_keys() || settings.backup_passphrase.is_some() {
        return Ok(settings.backup_passphrase.clone().filter(|_| examined.has_keys()));
    }
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    let words = password::ask_once("Passphrase of the backup (empty: leave its key locked): ").await?;
    if words.is_empty() {
        return Ok(None);
    }
    words.parse().map(Some).map_err(|wrong: String| {
        anyhow::anyhow!(
            "the passphrase {wrong}: set it in BATON_BACKUP_PASSPHRASE, or type it when you are asked"
        )
    })
}

fn unfinished(settled: Option<Settled>) -> String {
    let Some(Settled { held, handed_over, withheld, pending }) = settled else {
        return "What was owed leaves as if nothing had happened.\n".to_owned();
    };
    let mut told = String::new();
    if held > 0 {
        let _ = writeln!(
            told,
            "Held as unknown: {} owed in the backup, which may have left since; until the provider's echo, queue or journal \
             shows it, or a person confirms it or sends it again.",
            print::count(held, "message")
        );
    }
    if handed_over > 0 {
        let _ = writeln!(
            told,
            "Handed over to people: {} of contacts, waiting for the assistant in the backup, which may have been answered \
             since.",
            print::count(handed_over, "message")
        );
    }
    if withheld > 0 {
        let _ = writeln!(told, "Withheld: {} come due since.", print::count(withheld, "follow-up"));
    }
    if pending > 0 {
        let _ = writeln!(
            told,
            "Pending: {}, which will leave when due, from here as well as from the old installation if that keeps running: to \
             only try a backup out, do not start a server on it.",
            print::count(pending, "follow-up")
        );
    }
    if told.is_empty() {
        told.push_str("Nothing was owed.\n");
    }
    told
}

fn secrets(restored: &Restored, has_locked_keys: bool) -> String {
    let sum = |of: fn(&app::Seals) -> usize| restored.seals.iter().map(of).sum::<usize>();
    let (resealed, unopened) = (sum(|seals| seals.resealed), sum(|seals| seals.unopened));
    let mut told = String::new();
    if resealed > 0 {
        let _ = writeln!(
            told,
            "Re-encrypted, with the key that is set here: {}.",
            print::count(resealed, "secret")
        );
    }
    if unopened == 0 {
        return told;
    }
    let _ = write!(
        told,
        "Cannot be opened with any key that is set here: {}, above all those of channels. ",
        print::count(unopened, "secret")
    );
    let _ = match &restored.missing_key {
        Some(path) => writeln!(
            told,
            "Put the key of the old installation into {} before the first start, or set BATON_SECRET_KEY to it.",
            path.display()
        ),
        None => writeln!(
            told,
            "Name the key of the old installation too, behind a comma in BATON_SECRET_KEY or in the key file (new,old), or \
             enter the channels' tokens again."
        ),
    };
    if has_locked_keys {
        told.push_str(
            "The key is in the backup, locked: with BATON_BACKUP_PASSPHRASE it would have been used.\n",
        );
    }
    told
}

/// A backup knows nothing of who was shut out after it.
fn let_in(LetIn { agents, tokens }: &LetIn) -> String {
    let of = |what, names: &[String]| match names {
        [] => None,
        names => Some(format!("{}: {}", print::count(names.len(), what), names.join(", "))),
    };
    let told: Vec<String> = [of("agent", agents), of("token", tokens)].into_iter().flatten().collect();
    if told.is_empty() {
        return String::new();
    }
    format!(
        "Let in as when it was made, whatever was changed since: {}. Before the first start, shut out those who no longer \
         may enter: `baton agent disable EMAIL`, `baton token list` and `baton token revoke ID`.\n",
        told.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_told_with_what_it_waits_for() {
        let all = unfinished(Some(Settled { held: 3, handed_over: 2, withheld: 1, pending: 1 }));
        let lines: Vec<&str> = all.lines().collect();
        assert!(lines[0].starts_with("Held as unknown: 3 messages owed in the backup"), "{all}");
        assert!(
            lines[1].starts_with("Handed over to people: 2 messages of contacts") && lines.len() == 4,
            "{all}"
        );
        assert!(lines[3].starts_with("Pending: 1 follow-up, which will leave when due"), "{all}");
        assert_eq!(unfinished(Some(Settled::default())), "Nothing was owed.\n");
    }

    #[test]
    fn what_cannot_be_opened_is_told_with_its_cure() {
        let seals = |unopened| app::Seals { table: "channels", kept: 0, resealed: 0, unopened };
        let mut restored = Restored {
            rows: std::collections::BTreeMap::new(),
            settled: None,
            seals: vec![seals(0)],
            missing_key: Some("/srv/baton.key".into()),
            let_in: LetIn::default(),
        };
        assert_eq!(secrets(&restored, true), "", "nothing is missed");
        restored.seals = vec![seals(2)];
        assert!(secrets(&restored, false).contains("2 secrets, above all those of channels. Put the key of the old installation into /srv/baton.key before"));
        restored.missing_key = None;
        let told = secrets(&restored, true);
        assert!(told.contains("(new,old)") && told.contains("BATON_BACKUP_PASSPHRASE"), "{told}");
    }
}
