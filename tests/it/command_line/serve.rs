//! `baton serve`: how it ends, and how a container asks whether it lives.

use std::process::{Command, Stdio};

use super::{baton, command, folder, said, serve};

#[test]
fn a_server_that_is_told_to_stop_while_it_starts_stops() {
    let folder = folder();
    // A database that takes the connection and says nothing.
    let database = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("postgres://{}/baton", database.local_addr().expect("an address"));
    let mut process = command(folder.path(), &["serve", "--listen", "127.0.0.1:0"])
        .env("BATON_DATABASE_URL", url)
        .env("BATON_SECRET_KEY", "5e".repeat(32))
        .spawn()
        .expect("it starts");
    let _connection = database.accept().expect("it asks its database");
    let pid = rustix::process::Pid::from_child(&process);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    assert!(process.wait().expect("it ends").success(), "a signal that nobody hears would have killed it");
}

#[test]
fn a_server_that_can_hear_nobody_any_more_ends() {
    let folder = folder();
    // Enough for the database and the listener, not for those who would answer.
    let words = ["-c", "ulimit -n 25; exec \"$0\" serve --listen 127.0.0.1:0", env!("CARGO_BIN_EXE_baton")];
    let mut server = command(folder.path(), &[]);
    let mut limited = Command::new("sh");
    limited.current_dir(folder.path()).args(words).stderr(Stdio::piped());
    for (name, value) in server.env("RUST_BACKTRACE", "0").get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let output = limited.output().expect("it ends by itself");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("Too many open files") && told.contains("the HTTP server ended"), "{told}");
}

/// In an image without a shell the program itself is all that can ask.
#[test]
fn a_container_asks_its_own_server_whether_it_lives() {
    let folder = folder();
    let (mut server, link) = serve(folder.path());
    let port = link.split(['/', ':']).nth(4).expect("a port");
    let listens = format!("0.0.0.0:{port}");
    let asked = || baton(folder.path(), &["check", "--live"], &[("BATON_LISTEN", &listens)]);
    let (told, code) = said(&asked());
    assert!(told.contains(&format!("http://127.0.0.1:{port}/healthz answers")), "{told}");
    assert_eq!(code, Some(0));
    server.0.kill().and_then(|()| server.0.wait()).expect("it ends");
    let (told, code) = said(&asked());
    assert!(told.contains("does not answer"), "{told}");
    assert_eq!(code, Some(1));
}
