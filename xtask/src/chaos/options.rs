//! What is asked for on the command line.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::binary::Binary;

/// How it is used.
pub(crate) const HELP: &str = "\
  chaos  runs three instances on servers and fakes of its own, and under load kills, freezes, cuts and restarts all of
         them. Prints each fault, then the figures; exit 1 and the stories if anything was lost, doubled, out of order,
         or said by the assistant after a takeover was settled.

         --seed N             the same faults at the same moments as another time; drawn and printed if left out
         --faults N           how many (20)
         --messages N         how many messages contacts write (1000)
         --seconds N          over how long both are spread (30)
         --release            instances built for speed
         --binary FILE        this baton, instead of one built here
";

/// The seed of the run in the tests: always the same faults, so that a failure there can be looked for.
const SHORT_SEED: u64 = 20_260_101;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) seed: u64,
    pub(super) faults: usize,
    pub(super) messages: usize,
    pub(super) length: Duration,
    pub(super) binary: Binary,
}

impl Options {
    /// The run in the tests.
    pub(super) const fn short() -> Self {
        Self {
            seed: SHORT_SEED,
            faults: 16,
            messages: 600,
            length: Duration::from_secs(20),
            binary: Binary::Tests,
        }
    }

    /// None: somebody wants to know how it is used.
    pub(super) fn read(arguments: Vec<String>) -> Result<Option<Self>> {
        let seed = fastrand::u64(0..1_000_000_000);
        let length = Duration::from_secs(30);
        let mut options = Self { seed, faults: 20, messages: 1_000, length, binary: Binary::Plain };
        let mut arguments = arguments.into_iter();
        while let Some(name) = arguments.next() {
            match name.as_str() {
                "--help" | "-h" => return Ok(None),
                "--release" => options.binary = Binary::Optimised,
                "--binary" => {
                    let file = arguments.next().with_context(|| format!("{name} needs a file"))?;
                    options.binary = Binary::At(file.into());
                }
                "--seed" => options.seed = number(&name, arguments.next())?,
                "--faults" => options.faults = count(&name, arguments.next())?,
                "--messages" => options.messages = count(&name, arguments.next())?,
                "--seconds" => options.length = Duration::from_secs(number(&name, arguments.next())?.max(1)),
                other => bail!("chaos knows no {other:?}\n\n{HELP}"),
            }
        }
        Ok(Some(options))
    }
}

fn number(name: &str, value: Option<String>) -> Result<u64> {
    let value = value.with_context(|| format!("{name} needs a number"))?;
    value.parse().with_context(|| format!("{name} needs a number, not {value:?}"))
}

fn count(name: &str, value: Option<String>) -> Result<usize> {
    Ok(usize::try_from(number(name, value)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Option<Options>> {
        Options::read(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn a_line_is_read_and_a_wrong_one_refused() {
        let options =
            read("--seed 7 --faults 3 --messages 50 --seconds 9 --release").expect("right").expect("a run");
        let length = Duration::from_secs(9);
        assert_eq!(options, Options { seed: 7, faults: 3, messages: 50, length, binary: Binary::Optimised });
        assert_eq!(read("--help").expect("right"), None);
        for wrong in ["--seed", "--seed x", "--fault 3"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
