//! `baton demo --open`: the link is opened with whatever the platform opens links with. Here that is a script.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

use super::{Server, command, folder};

/// A demo that finds programs in that folder alone.
fn demo(folder: &Path) -> Server {
    let mut demo = command(folder, &["demo", "--open", "--keep", "play", "--listen", "127.0.0.1:0"]);
    demo.env("PATH", folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Server(demo.spawn().expect("it starts"))
}

/// The first line with these words.
fn line(out: impl Read, words: &str) -> String {
    let mut lines = BufReader::new(out).lines().map(|line| line.expect("text"));
    lines.find(|line| line.contains(words)).expect("it is said")
}

#[test]
fn a_demo_opens_the_link_that_it_tells() {
    let folder = folder();
    // Whoever writes there waits for who reads, and the other way round.
    let opened = folder.path().join("opened");
    assert!(Command::new("mkfifo").arg(&opened).status().expect("it runs").success());
    // By the names of either platform.
    for name in ["xdg-open", "open"] {
        let path = folder.path().join(name);
        fs::write(&path, "#!/bin/sh\nprintf '%s' \"$1\" >opened\n").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it may be run");
    }
    let mut demo = demo(folder.path());
    let told = line(demo.0.stdout.take().expect("piped"), "/sign-in#");
    assert_eq!(fs::read_to_string(&opened).expect("read"), told.trim());
}

#[test]
fn where_no_browser_can_be_opened_a_demo_says_so_and_goes_on() {
    let folder = folder();
    let mut demo = demo(folder.path());
    let told = line(demo.0.stderr.take().expect("piped"), "by hand");
    assert!(told.ends_with("opened no browser: open the link by hand"), "{told}");
    let story = line(demo.0.stdout.take().expect("piped"), "Mei");
    assert!(story.contains("Hi"), "{story}");
}
