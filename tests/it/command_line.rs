//! The program as a shell sees it: what it says, where, and with which exit code.

mod settings;

mod serve;

mod agents;

mod connect;

mod erase;

mod models;

mod tools;

mod demo;

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use serde_json::Value;

/// `baton` in that folder, with no variables of its own.
fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("BATON_") {
            command.env_remove(name);
        }
    }
    command.current_dir(folder).args(words);
    command
}

/// Runs `baton` in an empty folder, with these variables and no others of its own.
fn baton(folder: &Path, words: &[&str], variables: &[(&str, &str)]) -> Output {
    command(folder, words).envs(variables.iter().copied()).output().expect("it runs")
}

/// What it answers, and with which exit code.
fn said(output: &Output) -> (String, Option<i32>) {
    (String::from_utf8_lossy(&output.stdout).trim().to_owned(), output.status.code())
}

/// A server, until the end of the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn help_and_version_are_answers_and_anything_unknown_is_wrong_usage() {
    let folder = folder();
    for (words, code) in
        [(&["--help"][..], 0), (&["--version"], 0), (&["mode", "--help"], 0), (&["dance"], 2), (&[], 2)]
    {
        let output = baton(folder.path(), words, &[]);
        assert_eq!(output.status.code(), Some(code), "{words:?}");
        assert_eq!(output.stdout.is_empty(), code != 0, "{words:?}");
    }
    assert!(
        std::fs::read_dir(folder.path()).expect("a folder").next().is_none(),
        "nothing was made by asking"
    );
}

/// A server of its own in that folder, and the link that its first start prints.
fn serve(folder: &Path) -> (Server, String) {
    let mut serve = command(folder, &["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
    let child = serve.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut server = Server(child);
    let mut lines =
        BufReader::new(server.0.stderr.take().expect("piped")).lines().map(|line| line.expect("text"));
    let link = lines.find(|line| line.contains("/sign-in#")).expect("a link").trim().to_owned();
    assert!(link.starts_with("http://127.0.0.1:"), "a line of its own, not of the log: {link}");
    (server, link)
}

/// What the server answers whoever has that token.
async fn asks(token: &str, method: &str, url: &str, body: Option<&Value>) -> Value {
    let http =
        baton::adapters::http_client::http_client(std::time::Duration::from_secs(5)).expect("a client");
    let request = http.request(method.parse().expect("a method"), url).bearer_auth(token);
    let request = match body {
        Some(body) => request.json(body),
        None => request,
    };
    request.send().await.expect("an answer").json().await.expect("JSON")
}

#[test]
fn what_is_mistyped_in_a_shell_is_told_with_what_would_be_right() {
    let folder = folder();
    std::fs::write(folder.path().join("baton.toml"), "sandbox = \"on\"\n").expect("written");
    let (_server, _) = serve(folder.path());
    let run = |words: &[&str]| baton(folder.path(), words, &[]);
    let set = |chat: &str, words: &[&str]| {
        said(&run(&[&["mode", "set", chat, "HUMAN", "--channel", "sandbox"], words].concat()))
    };
    for _ in 0..2 {
        let (told, code) = set("6599999999", &[]);
        assert!(told.contains("nobody has written from 6599999999@c.us yet"), "{told}");
        assert_eq!(code, Some(0));
    }
    let (told, _) = said(&run(&["mode", "get", "6599999999", "--channel", "sandbox"]));
    assert!(told.ends_with(", switched from a shell"), "{told}");
    for (words, wrong) in [
        (
            &["mode", "set", "6599999999", "HUMAN", "--channel", "shop"][..],
            "there is no channel shop: there is sandbox",
        ),
        (&["token", "create", "x", "--channels", "shop"], "there is no channel shop: there is sandbox"),
        (
            &["token", "create", "x", "--role", "metrics", "--channels", "sandbox"],
            "metrics count all channels",
        ),
        (&["token", "revoke", "website"], "must be an id, as `baton token list` shows it"),
        (&["dead-letters", "retry", "5"], "must be an id, as `baton dead-letters list` shows it"),
        (
            &["dead-letters", "discard", "0199d9a0-0000-7000-8000-000000000000"],
            "no open dead letter has the id 0199d9a0-0000-7000-8000-000000000000: `baton dead-letters list`",
        ),
    ] {
        let refused = run(words);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(told.contains(wrong), "{words:?}: {told}");
    }
}
