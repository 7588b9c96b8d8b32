//! `baton secret-key`: another key for what is encrypted.

use std::fmt::Write as _;

use super::print;
use crate::{
    app::{self, Rotated, Seals},
    config::Settings,
};

/// The key that encrypts secrets: change it
#[derive(Debug, clap::Subcommand)]
pub(super) enum SecretKey {
    /// Encrypt everything with a new key, while the server is running
    ///
    /// A key in the file next to a SQLite database is replaced at once; the old one stays there as the second. A key in
    /// BATON_SECRET_KEY takes more steps: the first time values with a new key and the old one are printed; when every
    /// instance runs with the last of them, the second time everything is encrypted with the new one.
    Rotate,
}

impl SecretKey {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        match self {
            Self::Rotate => print::text(&told(&app::rotate(settings).await?))?,
        }
        Ok(())
    }
}

fn told(rotated: &Rotated) -> String {
    match rotated {
        Rotated::ToSet { first: None, then } => format!(
            "BATON_SECRET_KEY={then}\n\nSet this on every instance and restart each; then run `baton secret-key rotate` with \
             it again. Nothing has changed yet.\n"
        ),
        Rotated::ToSet { first: Some(first), then } => format!(
            "BATON_SECRET_KEY={first}\n\nSet this on every instance and restart each: all of them know the new key before one \
             encrypts with it. When all have started, set and restart them likewise with\n\nBATON_SECRET_KEY={then}\n\nThen \
             run `baton secret-key rotate` with that again. Nothing has changed yet.\n"
        ),
        Rotated::Sealed(seals) => format!(
            "{}When every instance runs with both keys, the old one (behind the comma in BATON_SECRET_KEY) may be removed. \
             Keep it with backups from before.\n",
            counted(seals)
        ),
        Rotated::Replaced { seals, path, dropped } => format!(
            "{}The new key is in {}, the old one behind its comma. A running server knows both by itself. The old one may \
             be removed now; keep it with backups from before.\n{}",
            counted(seals),
            path.display(),
            dropped.as_ref().map_or_else(String::new, |key| format!(
                "The one before that is no longer in the file. Keep it too, where backups from its time are kept:\n\n{key}\n"
            ))
        ),
    }
}

fn counted(seals: &[Seals]) -> String {
    let sum = |of: fn(&Seals) -> usize| seals.iter().map(of).sum::<usize>();
    let mut told = format!(
        "{} secrets were re-encrypted; {} already had the new key.\n",
        sum(|seals| seals.resealed),
        sum(|seals| seals.kept)
    );
    let unopened = sum(|seals| seals.unopened);
    if unopened > 0 {
        let _ = writeln!(
            told,
            "{unopened} cannot be opened with any key that is set here, and stay as they are."
        );
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_what_is_to_be_done_next() {
        let seals = vec![Seals { table: "channels", kept: 1, resealed: 2, unopened: 0 }];
        let set = told(&Rotated::ToSet { first: None, then: "aa,bb".into() });
        assert!(set.starts_with("BATON_SECRET_KEY=aa,bb\n") && set.contains("with it again"), "{set}");
        let set = told(&Rotated::ToSet { first: Some("bb,aa".into()), then: "aa,bb".into() });
        let lines: Vec<&str> = set.lines().filter(|line| line.starts_with("BATON_SECRET_KEY=")).collect();
        assert_eq!(lines, ["BATON_SECRET_KEY=bb,aa", "BATON_SECRET_KEY=aa,bb"]);
        let sealed = told(&Rotated::Sealed(seals.clone()));
        assert!(
            sealed.starts_with("2 secrets were re-encrypted; 1 already had the new key.\nWhen every"),
            "{sealed}"
        );
        let replaced =
            |dropped| told(&Rotated::Replaced { seals: seals.clone(), path: "baton.key".into(), dropped });
        let first = replaced(None);
        assert!(first.contains("in baton.key, the old one behind its comma"), "{first}");
        let second = replaced(Some("cc".into()));
        assert!(second.starts_with(&first) && second.ends_with("are kept:\n\ncc\n"), "{second}");
        let lost = vec![Seals { table: "channels", kept: 0, resealed: 0, unopened: 3 }];
        assert!(told(&Rotated::Sealed(lost)).contains("3 cannot be opened with any key"));
    }
}
