//! The browser of the person at this machine. In: a link. Out: it is open there, or they are asked to do it by hand.

use std::{
    io::{self, Write as _},
    process::{Command, Stdio},
    thread,
};

/// Opens a link with the program that the platform has for it, and waits for nothing: that program may stay for as long as
/// the browser does.
pub(super) fn open(link: &str) {
    let (program, before): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        // What comes first in quotes would be the title of a window.
        "windows" => ("cmd", &["/C", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let mut opening = Command::new(program);
    opening.args(before).arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let opening = opening.spawn();
    thread::spawn(move || {
        let is_open = opening.and_then(|mut opening| opening.wait()).is_ok_and(|status| status.success());
        if !is_open {
            // Whoever does not listen has the link all the same.
            let _ = writeln!(io::stderr(), "{program} opened no browser: open the link by hand");
        }
    });
}
