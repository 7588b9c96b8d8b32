//! The token is part of every address. It must not come out anywhere, with every log of every crate switched on.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::json;
use tokio::net::TcpListener;
use tracing_subscriber::util::SubscriberInitExt;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use super::{Finder, TOKEN, gateway_at, gateway_found_by, mira, outgoing};
use crate::{
    adapters::green_api::{Door, GreenApi},
    flow::provider::{Outgoing, Provider},
};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic while logging").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Does everything that the adapter can do, and tells how it went in words.
async fn everything(gateway: GreenApi) -> String {
    let message = Outgoing { timeout: Duration::from_millis(100), ..outgoing("hello") };
    let mut said = format!("{gateway:?} {:?} ", gateway.send(&message).await);
    gateway.show_typing(&mira(), 1_000).await;
    gateway.mark_read(&mira()).await;
    said += &format!("{:?} {:?} ", gateway.state().await, gateway.settings(Some("s3cret")).await);
    said += &format!("{:?} {:?} ", gateway.receive(Duration::ZERO).await, gateway.acknowledge(7).await);
    said += &format!("{:?} ", gateway.journal(60).await);
    let door = Door { url: String::new(), token: "s3cret".to_owned() };
    said + &format!("{:?}", gateway.change_settings(&[], &door).await)
}

#[tokio::test]
async fn whatever_fails_the_token_stays_inside() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = subscriber.set_default();
    tracing::trace!("this log is heard");

    let mut said = String::new();
    let path = format!("/waInstance7103000001/sendMessage/{TOKEN}");
    let echoing = json!({"statusCode": 400, "path": path, "message": format!("Validation failed at {path}")});
    for status in [200, 302, 400, 401, 404, 429, 466, 500, 502] {
        let server = MockServer::start().await;
        let answer = ResponseTemplate::new(status)
            .insert_header("location", format!("{}{path}", server.uri()))
            .set_body_json(&echoing);
        Mock::given(any()).respond_with(answer).mount(&server).await;
        said += &everything(gateway_at(&server.uri())).await;
    }
    let slow = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(200).set_delay(Duration::from_millis(300)))
        .mount(&slow)
        .await;
    said += &everything(gateway_at(&slow.uri())).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let closed = listener.local_addr().expect("an address");
    drop(listener);
    said += &everything(gateway_at(&format!("http://{closed}"))).await;
    said += &everything(gateway_found_by(Finder { at: None, not_before: Duration::ZERO }, 80)).await;
    said += &everything(gateway_at(&format!("https://{}", slow.address()))).await;

    assert!(!said.contains(TOKEN), "{said}");
    let log = String::from_utf8_lossy(&log.0.lock().expect("no panic while logging")).into_owned();
    assert!(log.contains("this log is heard"));
    // The mock server is no part of Baton and logs what it likes.
    let ours: Vec<&str> = log.lines().filter(|line| !line.contains("wiremock")).collect();
    let leaks: Vec<&&str> = ours.iter().filter(|line| line.contains(TOKEN)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    assert!(ours.len() > 20, "{ours:#?}");
}
