//! What is asked for on the command line.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use super::loads::Load;

/// How it is used.
pub(crate) const HELP: &str = "\
  bench  measures one baton on servers and fakes of its own, and beside each load what the machine itself can do in that
         moment: only what is compared within one run means something. Prints a table; exit 1 if anything was lost,
         doubled, out of order, or said after a takeover.

         --load NAME[,NAME]   ceiling, flight, alone, bursts, takeover, growth, dashboards (all of them)
         --store NAME         postgres, durable and with a Redis (the default), or sqlite
         --quick              each load small: all of them within a minute
         --statements         tells on which statements PostgreSQL spent most of its time in each load
         --calls N            flight goes on to so many calls of the model at once
         --binary FILE        this baton, instead of one built here with --release
         --out FILE           writes the figures down as JSON
         --compare A B        instead: two such files beside each other
";

/// Where Baton keeps things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    Postgres,
    Sqlite,
}

impl Store {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Sqlite => "sqlite",
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    Help,
    Compare(PathBuf, PathBuf),
    Run(Options),
}

/// How a run is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) loads: Vec<Load>,
    pub(super) store: Store,
    pub(super) is_quick: bool,
    pub(super) shows_statements: bool,
    pub(super) calls: Option<usize>,
    pub(super) binary: Option<PathBuf>,
    pub(super) out: Option<PathBuf>,
}

impl Asked {
    pub(super) fn read(arguments: &[String]) -> Result<Self> {
        let mut options = Options {
            loads: Load::ALL.to_vec(),
            store: Store::Postgres,
            is_quick: false,
            shows_statements: false,
            calls: None,
            binary: None,
            out: None,
        };
        let mut arguments = arguments.iter();
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{name} needs a value"));
            match name.as_str() {
                "--help" | "-h" => return Ok(Self::Help),
                "--quick" => options.is_quick = true,
                "--statements" => options.shows_statements = true,
                "--compare" => return Ok(Self::Compare(value()?.into(), value()?.into())),
                "--binary" => options.binary = Some(value()?.into()),
                "--out" => options.out = Some(value()?.into()),
                "--calls" => options.calls = Some(value()?.parse().context("--calls needs a number")?),
                "--store" => options.store = store(value()?)?,
                "--load" => options.loads = value()?.split(',').map(load).collect::<Result<_>>()?,
                other => bail!("bench knows no {other:?}\n\n{HELP}"),
            }
        }
        Ok(Self::Run(options))
    }
}

fn store(name: &str) -> Result<Store> {
    let known = [Store::Postgres, Store::Sqlite];
    known
        .into_iter()
        .find(|store| store.name() == name)
        .with_context(|| format!("there is no store {name:?}"))
}

fn load(name: &str) -> Result<Load> {
    let found = Load::ALL.iter().copied().find(|load| load.name() == name);
    found.with_context(|| format!("there is no load {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Asked> {
        Asked::read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_line_is_read_and_a_wrong_one_refused() {
        let asked =
            read("--load alone,ceiling --store sqlite --quick --out a.json --calls 9").expect("right");
        let options = Options {
            loads: vec![Load::Alone, Load::Ceiling],
            store: Store::Sqlite,
            is_quick: true,
            shows_statements: false,
            calls: Some(9),
            binary: None,
            out: Some("a.json".into()),
        };
        assert_eq!(asked, Asked::Run(options));
        assert_eq!(read("--compare a b").expect("right"), Asked::Compare("a".into(), "b".into()));
        for wrong in ["--load", "--load all", "--store redis", "--compare a", "--fast"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
