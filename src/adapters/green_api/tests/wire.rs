//! Connections that fail at each point of a send, on bare sockets: what was written decides what is certain.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::poll_fn;
use http_body::Body;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{Finder, gateway_at, gateway_found_by, outgoing};
use crate::{
    adapters::green_api::begin::{Progress, TimedBody},
    flow::provider::{Outgoing, Provider, Sent, boot_time},
};

/// A server that does as told with its first connection.
async fn serving<F, D>(deed: D) -> (String, tokio::task::JoinHandle<F::Output>)
where
    F: Future<Output: Send> + Send + 'static,
    D: FnOnce(TcpStream) -> F + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let task = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        deed(stream).await
    });
    (format!("http://{address}"), task)
}

/// Reads a whole request: its head and as many bytes as the head announces.
async fn whole_request(stream: &mut TcpStream) -> String {
    let mut seen = Vec::new();
    loop {
        if is_whole(&seen) {
            return String::from_utf8_lossy(&seen).into_owned();
        }
        let read = stream.read_buf(&mut seen).await.expect("bytes");
        assert!(read > 0, "the request broke off: {:?}", String::from_utf8_lossy(&seen));
    }
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(usize::MAX)
}

#[tokio::test]
async fn a_moment_that_passes_while_connecting_leaves_no_complete_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let begin_by = boot_time() + Duration::from_millis(20);
    let gateway = gateway_found_by(Finder { at: Some(address), not_before: begin_by }, address.port());
    let message = Outgoing { begin_by, ..outgoing("must not arrive") };
    assert_eq!(gateway.send(&message).await, Sent::TooLate);
    drop(gateway);
    let (mut stream, _) = listener.accept().await.expect("it did connect");
    let mut seen = Vec::new();
    // The connection may have been reset: what counts is what came before.
    let _end = stream.read_to_end(&mut seen).await;
    assert!(!is_whole(&seen), "{:?}", String::from_utf8_lossy(&seen));
    assert!(!String::from_utf8_lossy(&seen).contains("must not arrive"));
}

#[tokio::test]
async fn a_moment_already_past_opens_no_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let message = Outgoing { begin_by: Duration::ZERO, ..outgoing("must not arrive") };
    assert_eq!(gateway_at(&format!("http://{address}")).send(&message).await, Sent::TooLate);
    let accepted = poll_fn(|context| Poll::Ready(listener.poll_accept(context).is_ready())).await;
    assert!(!accepted, "somebody connected");
}

#[tokio::test]
async fn a_body_is_handed_out_in_time_or_not_at_all() {
    let mut context = Context::from_waker(std::task::Waker::noop());
    let (mut body, watch) = TimedBody::new("hello", boot_time() + Duration::from_secs(60));
    assert_eq!(
        (watch.progress(), body.size_hint().exact(), body.is_end_stream()),
        (Progress::Waiting, Some(5), false)
    );
    let frame = Pin::new(&mut body).poll_frame(&mut context);
    assert!(
        matches!(frame, Poll::Ready(Some(Ok(frame))) if frame.data_ref().is_some_and(|data| data == "hello"))
    );
    assert_eq!((watch.progress(), body.is_end_stream()), (Progress::Begun, true));
    let (mut body, watch) = TimedBody::new("hello", Duration::ZERO);
    assert!(matches!(Pin::new(&mut body).poll_frame(&mut context), Poll::Ready(Some(Err(_)))));
    assert_eq!(watch.progress(), Progress::Late);
}

#[tokio::test]
async fn a_refused_connection_or_a_name_not_found_certainly_sent_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let refused = gateway_at(&format!("http://{address}")).send(&outgoing("hi")).await;
    assert!(
        matches!(&refused, Sent::Unreached { detail } if detail.starts_with("no connection")),
        "{refused:?}"
    );
    let nowhere = gateway_found_by(Finder { at: None, not_before: Duration::ZERO }, 80);
    let lost = nowhere.send(&outgoing("hi")).await;
    assert_eq!(lost, Sent::Unreached { detail: "no connection: no such name".to_owned() });
}

#[tokio::test]
async fn a_connection_closed_or_reset_after_the_request_leaves_the_fate_unclear() {
    for reset in [false, true] {
        let (address, seen) = serving(move |mut stream| async move {
            let request = whole_request(&mut stream).await;
            if reset {
                stream.set_zero_linger().expect("a socket");
            }
            request
        })
        .await;
        let sent = gateway_at(&address).send(&outgoing("may have arrived")).await;
        assert!(matches!(sent, Sent::Unclear { .. }), "{sent:?}");
        assert!(seen.await.expect("a request").contains("may have arrived"));
    }
}

#[tokio::test]
async fn an_acceptance_cut_off_in_the_middle_leaves_the_fate_unclear() {
    let (address, seen) = serving(|mut stream| async move {
        whole_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 22\r\n\r\n{\"idMessage\":").await
    })
    .await;
    let sent = gateway_at(&address).send(&outgoing("hi")).await;
    assert!(matches!(sent, Sent::Unclear { .. }), "{sent:?}");
    seen.await.expect("a request").expect("written");
}

#[tokio::test]
async fn a_refusal_cut_off_in_the_middle_is_a_refusal_still() {
    let cases = [("400 Bad Request", true), ("466 Quota", false)];
    for (status, is_again) in cases {
        let (address, seen) = serving(move |mut stream| async move {
            whole_request(&mut stream).await;
            stream.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 90\r\n\r\n{{").as_bytes()).await
        })
        .await;
        let sent = gateway_at(&address).send(&outgoing("hi")).await;
        assert_eq!(matches!(sent, Sent::Again { .. }), is_again, "{sent:?}");
        assert_eq!(matches!(sent, Sent::Refused { .. }), !is_again, "{sent:?}");
        seen.await.expect("a request").expect("written");
    }
}

#[tokio::test]
async fn a_request_carries_its_length_and_is_never_chunked() {
    let (address, seen) = serving(|mut stream| async move { whole_request(&mut stream).await }).await;
    gateway_at(&address).send(&outgoing("hi")).await;
    let request = seen.await.expect("a request").to_lowercase();
    assert!(request.contains("content-length: 43") && !request.contains("transfer-encoding"), "{request}");
}
