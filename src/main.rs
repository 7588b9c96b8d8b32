//! The program.

use std::process::ExitCode;

fn main() -> ExitCode {
    baton::cli::main()
}
