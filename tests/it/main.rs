//! Black-box tests.

mod command_line;
