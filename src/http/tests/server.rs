//! The real server on a real socket: what only the wire shows.

use std::time::Duration;

use actix_web::dev::ServerHandle;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
};

use super::{ADMIN, World};
use crate::http::serve;

/// It runs until its handle stops it.
fn running(world: &World) -> (u16, ServerHandle, JoinHandle<std::io::Result<()>>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = serve(world.doors.clone(), listener, Duration::from_secs(60)).expect("a server");
    (port, server.handle(), tokio::spawn(server))
}

/// What is answered, to the end of the connection.
async fn exchange(port: u16, request: String) -> String {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).await.expect("connected");
    socket.write_all(request.as_bytes()).await.expect("written");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.expect("read");
    String::from_utf8(answer).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_goes_on_writing_what_nobody_reads_is_cut_off() {
    let world = World::new();
    let (port, handle, running) = running(&world);

    for path in ["/webhooks/green-api/default", "/api/v1/channels", "/nowhere"] {
        let begun = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
             Transfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n"
        );
        let answer = exchange(port, begun).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
        assert!(answer.contains("connection: close"), "{answer}");
    }

    // Who writes to its end may ask again on the same connection.
    let whole = format!(
        "POST /api/v1/channels HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n\
         GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    );
    let answers = exchange(port, whole).await;
    assert!(answers.starts_with("HTTP/1.1 400") && answers.contains("HTTP/1.1 200"), "{answers}");
    handle.stop(true).await;
    running.await.expect("no panic").expect("no error");
}

#[tokio::test(flavor = "multi_thread")]
async fn head_has_no_body_a_large_body_is_not_awaited_and_streams_do_not_hold_the_stop() {
    let world = World::new();
    let (port, handle, running) = running(&world);

    let head =
        exchange(port, "HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned()).await;
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(head.contains("content-length: 15"), "{head}");

    let large = format!(
        "POST /api/v1/channels HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {ADMIN}\r\n\
         Content-Type: application/json\r\nContent-Length: 2097153\r\n\r\n"
    );
    assert!(exchange(port, large).await.starts_with("HTTP/1.1 413"), "nothing of the body was sent");

    let feed = format!(
        "GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer {ADMIN}\r\n\r\n"
    );
    let mut socket = TcpStream::connect(("127.0.0.1", port)).await.expect("connected");
    socket.write_all(feed.as_bytes()).await.expect("written");
    let mut seen = String::new();
    while !seen.contains("event: hello") {
        let mut part = [0; 4096];
        let read = socket.read(&mut part).await.expect("read");
        assert_ne!(read, 0, "{seen}");
        seen.push_str(std::str::from_utf8(&part[..read]).expect("text"));
    }
    world.doors.stopping.cancel();
    let mut rest = String::new();
    let last_chunk = async {
        while !rest.contains("0\r\n\r\n") {
            let mut part = [0; 4096];
            let read = socket.read(&mut part).await.expect("read");
            if read == 0 {
                break;
            }
            rest.push_str(std::str::from_utf8(&part[..read]).expect("text"));
        }
    };
    last_chunk.await;
    assert!(rest.ends_with("0\r\n\r\n"), "the stream was ended, not cut: {rest:?}");
    drop(socket);
    handle.stop(true).await;
    running.await.expect("no panic").expect("no error");
}
