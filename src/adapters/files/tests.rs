#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bytes::BytesMut;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use wiremock::{
    Match, Mock, MockServer, Request, ResponseTemplate,
    matchers::{header, method, path},
};

use super::*;
use crate::flow::media::files::{Looks, Piece};

/// A limit for what does not come, however long one waits.
const SHORT: Duration = Duration::from_millis(50);

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and ten more bytes";

fn storage(hosts: &str, change: impl FnOnce(&mut Limits)) -> Storage {
    let mut limits = Limits { bytes: 1_000_000, turn: SHORT, ..Limits::default() };
    change(&mut limits);
    Storage::new(hosts.parse().unwrap(), limits).unwrap()
}

/// A store of the provider's, and what may fetch from it.
async fn store() -> (MockServer, Storage) {
    let server = MockServer::start().await;
    let storage = storage(&server.address().to_string(), |_| {});
    (server, storage)
}

async fn serves(server: &MockServer, at: &str, template: ResponseTemplate) -> String {
    Mock::given(method("GET")).and(path(at)).respond_with(template).mount(server).await;
    format!("{}{at}", server.uri())
}

/// All bytes, and whether they were all.
async fn read(mut file: File) -> (Vec<u8>, bool) {
    let mut bytes = BytesMut::new();
    while let Some(piece) = file.pieces.recv().await {
        match piece {
            Piece::Part(part) => bytes.extend_from_slice(&part),
            Piece::End => return (bytes.to_vec(), true),
        }
    }
    (bytes.to_vec(), false)
}

async fn whole(storage: &Storage, url: &str) -> Result<Vec<u8>, Unfetched> {
    let (bytes, is_whole) = read(storage.fetch(url, None).await?).await;
    assert!(is_whole, "it broke off");
    Ok(bytes)
}

/// A server that says these bytes to whoever comes, and then neither ends nor goes on: a file of it, and who it is.
async fn says(bytes: &'static [u8]) -> (String, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 2_048];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(bytes).await;
            open.push(stream);
        }
    });
    (format!("http://{address}/a"), address.to_string())
}

#[tokio::test]
async fn a_file_comes_piece_by_piece_and_whole() {
    let (server, storage) = store().await;
    let large: Vec<u8> = PNG.iter().copied().cycle().take(900_000).collect();
    let url = serves(&server, "/a.png", ResponseTemplate::new(200).set_body_bytes(large.clone())).await;
    let file = storage.fetch(&url, None).await.unwrap();
    assert_eq!((file.size, file.part, file.looks), (Some(900_000), None, Looks::Like("image/png")));
    assert_eq!(read(file).await, (large, true));
    let empty = serves(&server, "/empty", ResponseTemplate::new(200)).await;
    let file = storage.fetch(&empty, None).await.unwrap();
    assert_eq!((file.size, file.looks), (Some(0), Looks::LikeNothing));
    assert_eq!(read(file).await, (Vec::new(), true));
}

#[tokio::test]
async fn nothing_is_fetched_from_where_nothing_may_be() {
    let (server, _) = store().await;
    let port = server.address().port();
    let url = serves(&server, "/a", ResponseTemplate::new(200)).await;
    // The name is allowed; that it leads inside is seen when it is looked up.
    for hosts in ["none", "127.0.0.2", "127.0.0.1:1", "*.greenapi.com", "localhost"] {
        let storage = storage(hosts, |_| {});
        assert!(!storage.allows(&url), "{hosts}");
        assert_eq!(whole(&storage, &url).await, Err(Unfetched::HostNotAllowed), "{hosts}");
        let by_name = format!("http://localhost:{port}/a");
        assert_eq!(whole(&storage, &by_name).await, Err(Unfetched::HostNotAllowed), "{hosts}");
    }
    assert!(!storage("none", |_| {}).are_fetched());
    let storage = storage("127.0.0.1,media.greenapi.com", |_| {});
    for url in [
        "file:///etc/passwd",
        "ftp://media.greenapi.com/a",
        "http://user@127.0.0.1/a",
        "http://media.greenapi.com:secret@169.254.169.254/a",
        "http://[::1]/a",
        "http://[::ffff:127.0.0.1]/a",
        "http://127.0.0.2/a",
        "//media.greenapi.com/a",
        "not an address",
        "",
    ] {
        assert!(!storage.allows(url), "{url}");
        assert_eq!(whole(&storage, url).await, Err(Unfetched::HostNotAllowed), "{url}");
    }
    assert!(storage.allows("https://media.greenapi.com/a") && storage.allows("http://0x7f.1/a"));
    assert!(server.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_redirect_is_followed_only_to_where_a_fetch_may_go() {
    let ((server, storage), (elsewhere, _)) = (store().await, store().await);
    let to = |location: &str| ResponseTemplate::new(302).insert_header("Location", location);
    serves(&server, "/b", ResponseTemplate::new(200).set_body_bytes(PNG)).await;
    let inside = serves(&server, "/a", to("/b")).await;
    assert_eq!(whole(&storage, &inside).await.unwrap(), PNG);
    let canary = serves(&elsewhere, "/secret", ResponseTemplate::new(200)).await;
    for location in [canary.as_str(), "file:///etc/passwd", "http://169.254.169.254/latest/meta-data"] {
        let url = serves(&server, &format!("/to/{}", location.len()), to(location)).await;
        assert_eq!(whole(&storage, &url).await, Err(Unfetched::HostNotAllowed), "{location}");
    }
    assert!(elsewhere.received_requests().await.unwrap().is_empty());
    for (at, location) in [("/round", "/round"), ("/nowhere", "http://")] {
        let url = serves(&server, at, to(location)).await;
        assert!(matches!(whole(&storage, &url).await, Err(Unfetched::Failed(_))), "{at}");
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 2 + 3 + 1 + REDIRECTS_MAX + 1);
}

#[tokio::test]
async fn a_part_is_given_by_servers_that_know_of_parts_and_by_those_that_do_not() {
    let (server, storage) = store().await;
    let simple = serves(&server, "/simple", ResponseTemplate::new(200).set_body_bytes(PNG)).await;
    let part = ResponseTemplate::new(206).set_body_bytes(&PNG[4..=9]);
    let part = part.insert_header("Content-Range", format!("bytes 4-9/{}", PNG.len()));
    let knows = Mock::given(path("/knows")).and(header("Range", "bytes=4-9")).respond_with(part);
    knows.mount(&server).await;
    for (url, looks) in
        [(simple.clone(), Looks::Like("image/png")), (format!("{}/knows", server.uri()), Looks::Unseen)]
    {
        let file = storage.fetch(&url, Some(Range::From(4, Some(9)))).await.unwrap();
        let size = u64::try_from(PNG.len()).unwrap();
        assert_eq!((file.size, file.part, file.length()), (Some(size), Some((4, 9)), Some(6)), "{url}");
        assert_eq!(file.looks, looks, "{url}");
        assert_eq!(read(file).await, (PNG[4..=9].to_vec(), true), "{url}");
    }
    let last = storage.fetch(&simple, Some(Range::Last(5))).await.unwrap();
    assert_eq!(read(last).await, (b"bytes".to_vec(), true));
    let behind = storage.fetch(&simple, Some(Range::From(99, None))).await.unwrap_err();
    assert_eq!(behind, Unfetched::NoSuchPart(Some(27)));

    let none = ResponseTemplate::new(416).insert_header("Content-Range", "bytes */7");
    let none = serves(&server, "/none", none).await;
    let refused = storage.fetch(&none, Some(Range::From(9, None))).await.unwrap_err();
    assert_eq!(refused, Unfetched::NoSuchPart(Some(7)));
    let less =
        ResponseTemplate::new(206).set_body_bytes(&PNG[4..=6]).insert_header("Content-Range", "bytes 4-6/*");
    let less = serves(&server, "/less", less).await;
    let file = storage.fetch(&less, Some(Range::From(4, Some(9)))).await.unwrap();
    assert_eq!((file.size, file.part), (None, Some((4, 6))));
    assert_eq!(read(file).await, (PNG[4..=6].to_vec(), true));
    let endless = ResponseTemplate::new(206).insert_header("Content-Range", "bytes 4-2000000/*");
    let endless = serves(&server, "/endless", endless).await;
    assert_eq!(storage.fetch(&endless, Some(Range::From(4, None))).await.unwrap_err(), Unfetched::TooLarge);
    let beyond = format!("bytes 4-{}/*", u64::MAX);
    for given in
        ["bytes 0-5/27", "bytes 4-10/27", beyond.as_str(), "bytes 4-9", "bytes 9-4/27", "items 4-9/27"]
    {
        let other =
            ResponseTemplate::new(206).set_body_bytes(&PNG[4..=9]).insert_header("Content-Range", given);
        let url = serves(&server, &format!("/{}", given.replace(['/', ' '], "-")), other).await;
        let outcome = storage.fetch(&url, Some(Range::From(4, Some(9)))).await;
        assert!(matches!(outcome, Err(Unfetched::Failed(_))), "{given}: another part than was wanted");
    }
}

#[tokio::test]
async fn the_first_two_bytes_are_of_the_kind_of_the_whole_file() {
    let (server, storage) = store().await;
    let film = b"\x00\x00\x00\x20ftypisom and frames";
    let page = b"<!DOCTYPE html><script>alert(1)</script>";
    for (name, bytes, looks) in
        [("film", &film[..], Looks::Like("video/mp4")), ("page", &page[..], Looks::LikeNothing)]
    {
        let simple = ResponseTemplate::new(200).set_body_bytes(bytes);
        let simple = serves(&server, &format!("/simple/{name}"), simple).await;
        let part = ResponseTemplate::new(206).set_body_bytes(&bytes[..16]);
        let part = part.insert_header("Content-Range", format!("bytes 0-15/{}", bytes.len()));
        let at = format!("/knows/{name}");
        Mock::given(path(&*at)).and(header("Range", "bytes=0-15")).respond_with(part).mount(&server).await;
        for url in [simple, format!("{}{at}", server.uri())] {
            let file = storage.fetch(&url, Some(Range::From(0, Some(1)))).await.unwrap();
            let size = u64::try_from(bytes.len()).unwrap();
            assert_eq!((file.size, file.part, file.length()), (Some(size), Some((0, 1)), Some(2)), "{url}");
            assert_eq!(file.looks, looks, "{url}");
            assert_eq!(read(file).await, (bytes[..2].to_vec(), true), "{url}");
        }
    }
    let tiny = serves(&server, "/tiny", ResponseTemplate::new(200).set_body_bytes("abc")).await;
    let file = storage.fetch(&tiny, Some(Range::From(0, Some(9)))).await.unwrap();
    assert_eq!((file.part, read(file).await), (Some((0, 2)), (b"abc".to_vec(), true)));
}

#[tokio::test]
async fn what_the_server_refuses_is_gone_and_what_it_cannot_do_now_is_tried_again() {
    let (server, storage) = store().await;
    for status in [401, 403, 404, 410, 400, 429, 500, 503, 206, 304] {
        let url = serves(&server, &format!("/{status}"), ResponseTemplate::new(status)).await;
        let outcome = whole(&storage, &url).await;
        match status {
            401 | 403 | 404 | 410 => assert_eq!(outcome, Err(Unfetched::Gone), "{status}"),
            _ => assert!(matches!(outcome, Err(Unfetched::Failed(_))), "{status}: {outcome:?}"),
        }
    }
    drop(server);
    let nobody = storage.fetch("http://127.0.0.1:1/a", None).await;
    assert_eq!(nobody.unwrap_err(), Unfetched::HostNotAllowed);
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let storage = self::storage(&closed.to_string(), |_| {});
    let unreached = storage.fetch(&format!("http://{closed}/a?signature=secret"), None).await.unwrap_err();
    assert!(matches!(&unreached, Unfetched::Failed(what) if !what.contains("secret")), "{unreached}");
}

#[tokio::test]
async fn a_file_that_is_too_large_is_not_fetched_whether_or_not_it_says_so() {
    let (server, _) = store().await;
    let url = serves(&server, "/a", ResponseTemplate::new(200).set_body_bytes(vec![7; 1_001])).await;
    let small = storage(&server.address().to_string(), |limits| limits.bytes = 1_000);
    assert_eq!(whole(&small, &url).await, Err(Unfetched::TooLarge));
    assert_eq!(small.fetch(&url, Some(Range::From(0, Some(9)))).await.unwrap_err(), Unfetched::TooLarge);

    let (url, address) = says(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                          14\r\n01234567890123456789\r\n14\r\n01234567890123456789\r\n0\r\n\r\n",
    )
    .await;
    let whole = storage(&address, |limits| limits.bytes = 40).fetch(&url, None).await.unwrap();
    assert_eq!(whole.size, None);
    assert!(read(whole).await.1);
    let cut = storage(&address, |limits| limits.bytes = 39).fetch(&url, None).await.unwrap();
    assert_eq!(read(cut).await, (b"01234567890123456789".to_vec(), false));
}

#[tokio::test]
async fn a_server_that_is_silent_is_given_up() {
    let (url, address) = says(b"").await;
    let storage = storage(&address, |limits| limits.answer = SHORT);
    assert_eq!(storage.fetch(&url, None).await.unwrap_err(), failed("no answer in time"));
    let (url, address) = says(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n").await;
    // Within this its head must have come.
    let storage = self::storage(&address, |limits| limits.answer = Duration::from_secs(2));
    assert_eq!(storage.fetch(&url, None).await.unwrap_err(), failed("no byte in time"));
    let (url, address) = says(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n01234567890123456789").await;
    let storage = self::storage(&address, |limits| limits.idle = SHORT);
    let file = storage.fetch(&url, None).await.unwrap();
    assert_eq!(read(file).await, (b"01234567890123456789".to_vec(), false), "its end never comes");
}

/// Tells when a request has come.
struct Asked(Arc<Semaphore>);

impl Match for Asked {
    fn matches(&self, _: &Request) -> bool {
        self.0.add_permits(1);
        true
    }
}

#[tokio::test]
async fn only_so_many_are_fetched_at_once_and_who_hangs_up_makes_room() {
    let (server, _) = store().await;
    let asked = Arc::new(Semaphore::new(0));
    let large = ResponseTemplate::new(200).set_body_bytes(vec![7; 900_000]);
    Mock::given(Asked(Arc::clone(&asked))).respond_with(large).mount(&server).await;
    let url = format!("{}/a", server.uri());
    let storage = storage(&server.address().to_string(), |limits| limits.at_once = 1);
    let first = storage.fetch(&url, None).await.unwrap();
    assert_eq!(storage.fetch(&url, None).await.unwrap_err(), Unfetched::Busy, "nobody reads the first");
    assert_eq!(asked.available_permits(), 1, "nobody was asked");
    drop(first);
    let mut second = storage.fetch(&url, None).await;
    while matches!(second, Err(Unfetched::Busy)) {
        second = storage.fetch(&url, None).await;
    }
    assert_eq!(read(second.unwrap()).await.0.len(), 900_000);
}
