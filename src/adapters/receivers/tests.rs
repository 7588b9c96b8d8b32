use std::time::Duration;

use bytes::Bytes;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use super::*;

fn outward(hosts: &str) -> Outward {
    Outward::new(hosts.parse().expect("a list")).expect("a client")
}

fn parcel(url: &str) -> Parcel {
    Parcel {
        url: url.to_owned(),
        id: "ab12.7".to_owned(),
        timestamp: 1_767_600_000,
        signature: "v1,abc=".to_owned(),
        body: Bytes::from_static(b"{}"),
    }
}

async fn server(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(answer).mount(&server).await;
    server
}

#[test]
fn only_what_anyone_may_reach_is_an_address_unless_the_settings_name_it() {
    let (none, some) = (outward("none"), outward("127.0.0.1:9000,crm.internal"));
    #[rustfmt::skip]
    let table = [
        // address                              named nowhere   named in the settings
        ("https://example.com/hook?key=1",      true,           true),
        ("https://example.com:8443/",           true,           true),
        ("http://example.com/hook",             false,          false),
        ("https://8.8.8.8/",                    true,           true),
        ("https://127.0.0.1/",                  false,          false),
        ("https://[::1]/",                      false,          false),
        ("https://[::ffff:127.0.0.1]/",         false,          false),
        ("https://0x7f.1/",                     false,          false),
        ("https://169.254.169.254/latest",      false,          false),
        ("https://10.0.0.1/",                   false,          false),
        ("http://127.0.0.1:9000/hook",          false,          true),
        ("http://127.0.0.1:9001/hook",          false,          false),
        ("http://crm.internal/hook",            false,          true),
        ("https://a:b@example.com/",            false,          false),
        ("http://a@127.0.0.1:9000/",            false,          false),
        ("https://example.com/#here",           false,          false),
        ("file:///etc/passwd",                  false,          false),
        ("example.com",                         false,          false),
        ("",                                    false,          false),
    ];
    for (url, nowhere, named) in table {
        assert_eq!(none.refuses(url).is_none(), nowhere, "{url}: {:?}", none.refuses(url));
        assert_eq!(some.refuses(url).is_none(), named, "{url}: {:?}", some.refuses(url));
        assert_eq!(some.is_named(url), named && !nowhere, "{url}");
    }
    assert!(none.refuses(&format!("https://example.com/{}", "a".repeat(2_000))).is_some());
}

#[tokio::test]
async fn what_is_posted_is_what_was_signed() {
    let server = server(ResponseTemplate::new(204)).await;
    let attempt = outward("127.0.0.1").post(parcel(&format!("{}/hook?key=1", server.uri()))).await;
    assert_eq!((attempt.status, attempt.trouble, attempt.answer), (Some(204), None, None));
    let [request] = &server.received_requests().await.expect("they are recorded")[..] else {
        panic!("one request")
    };
    assert_eq!(
        (request.method.as_str(), request.url.path(), request.url.query()),
        ("POST", "/hook", Some("key=1"))
    );
    assert_eq!(request.body, b"{}");
    for (name, value) in [
        ("content-type", "application/json"),
        ("webhook-id", "ab12.7"),
        ("webhook-timestamp", "1767600000"),
        ("webhook-signature", "v1,abc="),
    ] {
        assert_eq!(request.headers.get(name).expect(name), value);
    }
}

#[tokio::test]
async fn what_is_inside_sees_nothing() {
    let canary = server(ResponseTemplate::new(200)).await;
    let port = canary.address().port();
    for url in [
        format!("http://127.0.0.1:{port}/"),
        format!("https://127.0.0.1:{port}/"),
        // A name that leads inside: it is looked up as the connection is made.
        format!("https://localhost:{port}/"),
    ] {
        let attempt = outward("none").post(parcel(&url)).await;
        assert_eq!((attempt.status, attempt.trouble), (None, Some(Trouble::NotAllowed)), "{url}");
    }
    assert!(canary.received_requests().await.expect("they are recorded").is_empty());
}

#[tokio::test]
async fn nobody_is_followed_elsewhere() {
    let elsewhere = server(ResponseTemplate::new(200)).await;
    let server = server(ResponseTemplate::new(307).insert_header("location", elsewhere.uri())).await;
    let attempt = outward("127.0.0.1").post(parcel(&server.uri())).await;
    assert_eq!((attempt.status, attempt.trouble), (Some(307), Some(Trouble::Redirected)));
    assert!(elsewhere.received_requests().await.expect("they are recorded").is_empty());
}

#[tokio::test]
async fn each_way_to_fail_has_a_name() {
    let of = |answer| async move {
        let server = server(answer).await;
        outward("127.0.0.1").post(parcel(&server.uri())).await
    };
    let busy = of(ResponseTemplate::new(503).insert_header("retry-after", "120")).await;
    assert_eq!((busy.trouble, busy.retry_after_ms), (Some(Trouble::Refused), Some(120_000)));
    assert_eq!(of(ResponseTemplate::new(410)).await.trouble, Some(Trouble::Gone));
    let silent = server(ResponseTemplate::new(200).set_delay(Duration::from_secs(600))).await;
    let hosts = "127.0.0.1".parse().expect("a list");
    let hasty = Outward::within(hosts, Duration::from_millis(300)).expect("a client");
    let slow = hasty.post(parcel(&silent.uri())).await;
    assert_eq!((slow.status, slow.trouble), (None, Some(Trouble::Timeout)));
    let long = of(ResponseTemplate::new(400).set_body_string("no \0\u{8}".repeat(2_000))).await;
    assert_eq!(long.trouble, Some(Trouble::Refused));
    let answer = long.answer.expect("the beginning of it");
    assert!(answer.starts_with("no no ") && answer.len() <= ANSWER_MAX, "{}", answer.len());
    let nobody =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let away = outward("127.0.0.1").post(parcel(&format!("http://{nobody}/"))).await;
    assert_eq!((away.status, away.trouble), (None, Some(Trouble::Unreachable)));
}
