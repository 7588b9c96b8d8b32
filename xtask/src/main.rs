//! The project's chores: `cargo xtask test` runs every test with the servers it needs, `cargo xtask chaos` a whole Baton
//! whose parts are killed, `cargo xtask bench` measures one, `cargo xtask deploy` checks the files with which it is run,
//! `cargo xtask api` the API.
//!
//! In: what is to be done, on the command line. Out: what was done, and 0 if all of it went well.

mod cargo;

mod binary;

mod fakes;

mod chaos;

mod bench;

mod packages;

mod programs;

mod processes;

mod servers;

mod user;

mod stop;

mod dashboard;

mod deploy;

mod api;

mod test;

use std::process::ExitCode;

const HELP: &str = "\
Chores of this project.

Usage: cargo xtask test [--install] [ARGUMENTS]
       cargo xtask chaos [--seed N] [--faults N] [--messages N] [--seconds N] [--release | --binary FILE]
       cargo xtask bench [--load NAME,…] [--store NAME] [--quick] [--calls N] [--statements] [--binary FILE] [--out FILE]
       cargo xtask bench --compare A B
       cargo xtask deploy [--install]
       cargo xtask api [--install] [ARGUMENTS]

  test   runs every test, on a PostgreSQL and a Redis of its own: on free ports of this machine, with their data in a
         temporary folder, stopped afterwards; the dashboard's in a Chromium; the files of deployment; the API by its description;
         dependencies, where cargo-deny is installed; and last a short run of chaos. ARGUMENTS go to the test runner
         (cargo-nextest if there, else cargo test): `cargo xtask test burst` runs the tests with `burst` in their names,
         and no chaos.

         --install            may install the packages of PostgreSQL, Redis, Chromium, Node, Python and Prometheus if missing
                              (apt-get or brew). Allowed without asking to root, and where CI=true
         TEST_DATABASE_URL    use this PostgreSQL server instead of a private one; tests make databases in it
         TEST_REDIS_URL       use this Redis server instead of a private one; tests write under prefixes of their own
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("test") => report(test::run(arguments.collect())),
        Some("chaos") => report(chaos::run(arguments.collect())),
        Some("bench") => report(bench::run(&arguments.collect::<Vec<_>>())),
        Some("api") => report(api::run(&arguments.collect::<Vec<_>>())),
        Some("deploy") => report(deploy::run(&arguments.collect::<Vec<_>>())),
        Some("help" | "--help" | "-h") => {
            print!("{}", help());
            ExitCode::SUCCESS
        }
        Some(other) => {
            eprintln!("cargo xtask: there is no chore {other:?}\n\n{}", help());
            ExitCode::from(2)
        }
        None => {
            eprint!("{}", help());
            ExitCode::from(2)
        }
    }
}

fn help() -> String {
    [HELP, chaos::HELP, bench::HELP, deploy::HELP, api::HELP].join("\n")
}

fn report(done: anyhow::Result<ExitCode>) -> ExitCode {
    done.unwrap_or_else(|error| {
        eprintln!("cargo xtask: {error:#}");
        ExitCode::FAILURE
    })
}
