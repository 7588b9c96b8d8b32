//! `docs/examples/follow.py`, as a program of somebody's own.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    process::{Command, Stdio},
};

/// The hello, a place alone as it comes past many events of other channels, and an event.
const STREAM: &str = concat!(
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
    "id: e1\nevent: hello\ndata: {\"id\":\"e9\"}\n\n",
    ": still here\n\n",
    "id: e201\n\n",
    "id: e202\nevent: mode_changed\n",
    "data: {\"at\":\"2026-01-05\",\"type\":\"mode_changed\",\"action\":null,\"conversation_id\":null}\n\n",
);

#[test]
fn the_example_goes_on_past_what_its_token_does_not_see() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = std::env::temp_dir().join(format!("baton-follow-{}", uuid::Uuid::now_v7()));
    std::fs::write(&place, "e1").expect("written");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/follow.py");
    let mut program = Command::new("python3");
    program.args(["-u", example]).arg(&place).stdout(Stdio::piped());
    let address = format!("http://{}", server.local_addr().expect("bound"));
    program.env("BATON", address).env("TOKEN", "a token").env("NO_PROXY", "*");
    let mut child = match program.spawn() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
        child => child.expect("it starts"),
    };

    let (mut client, _) = server.accept().expect("it asks");
    let mut asked = [0; 1_024];
    let length = client.read(&mut asked).expect("a request");
    let asked = String::from_utf8_lossy(&asked[..length]).to_lowercase();
    assert!(asked.contains("last-event-id: e1\r\n"), "{asked}");
    client.write_all(STREAM.as_bytes()).expect("it reads");
    let mut said = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut said).expect("text");
    child.kill().expect("it still runs");
    child.wait().expect("it ends");
    std::fs::remove_file(&place).expect("its place was kept");
    assert_eq!(said.trim(), "2026-01-05 mode_changed");
}
