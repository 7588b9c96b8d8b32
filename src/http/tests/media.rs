use actix_web::body::to_bytes;
use uuid::Uuid;

use super::{ADMIN, Reply, World, fakes, request};
use crate::{
    domain::{
        chat::ChatId,
        message::{Media, Message},
    },
    flow::{
        archive::Placed,
        back_office::{
            people::hash_of,
            registry::{Role, Token},
        },
        media::files::Unfetched,
    },
};

const JPEG: &[u8] = b"\xff\xd8\xff\xe0 a picture of a cat";

impl World {
    /// A message with that file.
    fn attach(&self, change: impl FnOnce(&mut Message, &mut Media)) -> Uuid {
        let mut message = fakes::message(1, "[image]");
        let mut media = Media {
            url: "https://files.test/cat".to_owned(),
            mime_type: "image/jpeg".to_owned(),
            file_name: "cat.jpg".to_owned(),
            ..Media::default()
        };
        change(&mut message, &mut media);
        message.media = Some(media);
        let id = message.id;
        self.place(message);
        id
    }

    fn place(&self, message: Message) {
        let chat = ChatId::parse("6580000001@c.us").expect("a chat");
        let (conversation, channel) = (Uuid::now_v7(), "default".to_owned());
        self.shelf.messages.lock().unwrap().push(Placed { conversation, channel, chat, message });
    }

    fn keep(&self, name: &'static str, outcome: Result<&'static [u8], Unfetched>) {
        self.album.files.lock().unwrap().push((name, outcome));
    }

    async fn part_of(&self, id: Uuid, range: &str) -> Reply {
        let asked = request("GET", &path(id), None).insert_header(("Range", range));
        self.send(asked.insert_header(("Authorization", format!("Bearer {ADMIN}")))).await
    }
}

fn path(id: Uuid) -> String {
    format!("/api/v1/messages/{id}/media")
}

#[tokio::test]
async fn a_picture_is_shown_under_the_name_it_was_sent_with() {
    let world = World::new();
    world.keep("cat", Ok(b"\x89PNG\r\n\x1a\n and so on"));
    let id = world.attach(|_, media| media.file_name = "../photos/Kätzchen \u{202e}gpj.exe".to_owned());
    let asked = request("GET", &path(id), None).insert_header(("Authorization", format!("Bearer {ADMIN}")));
    let answer = world.open(asked).await;
    assert_eq!(answer.status().as_u16(), 200);
    let header = |name: &str| answer.headers().get(name).map_or("", |value| value.to_str().expect("text"));
    assert_eq!(header("content-type"), "image/png", "whatever it was called");
    assert_eq!(
        header("content-disposition"),
        "inline; filename=\"K_tzchen gpj.exe\"; filename*=UTF-8''K%C3%A4tzchen%20gpj.exe"
    );
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("content-security-policy"), "default-src 'none'; frame-ancestors 'none'");
    assert_eq!(header("accept-ranges"), "bytes");
    let bytes = to_bytes(answer.into_body()).await.expect("whole");
    assert_eq!(&bytes[..], b"\x89PNG\r\n\x1a\n and so on");
}

#[tokio::test]
async fn what_could_be_run_is_only_ever_saved() {
    for (bytes, called) in [
        (&b"<!DOCTYPE html><script>alert(1)</script>"[..], "image/jpeg"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"),
        (b"%PDF-1.7 with a program", "application/pdf"),
    ] {
        let world = World::new();
        world.keep("cat", Ok(bytes));
        let id = world.attach(|_, media| media.mime_type = called.to_owned());
        let reply = world.get(&path(id)).await;
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (200, "application/octet-stream"),
            "{called}"
        );
        assert!(reply.header("content-disposition").starts_with("attachment; filename=\"cat.jpg\""));
    }
}

#[tokio::test]
async fn a_part_is_given_as_one() {
    let world = World::new();
    world.keep("cat", Ok(b"OggS, and then sound"));
    let id = world.attach(|_, media| media.mime_type = "audio/ogg; codecs=opus".to_owned());
    let reply = world.part_of(id, "bytes=6-8").await;
    assert_eq!((reply.status, reply.body.as_str()), (206, "and"));
    assert_eq!((reply.header("content-range"), reply.header("content-type")), ("bytes 6-8/20", "audio/ogg"));
    let reply = world.part_of(id, "bytes=-5").await;
    assert_eq!((reply.status, reply.body.as_str()), (206, "sound"));
    let reply = world.part_of(id, "bytes=20-").await;
    assert_eq!(reply.problem(), (416, "range_not_satisfiable".to_owned()));
    assert_eq!(reply.header("content-range"), "bytes */20");
    for nonsense in ["bytes=0-1,4-5", "items=1", "bytes=9-2"] {
        assert_eq!(world.part_of(id, nonsense).await.status, 200, "{nonsense}");
    }
    let asked = request("GET", &path(id), None).insert_header(("Range", "bytes=0-1"));
    let asked = asked
        .insert_header(("If-Range", "\"another\""))
        .insert_header(("Authorization", format!("Bearer {ADMIN}")));
    assert_eq!(world.send(asked).await.status, 200, "a part of some other version is of no use");
    let head = world.ask("HEAD", &path(id), None).await;
    assert_eq!((head.status, head.body.as_str(), head.header("content-length")), (200, "", "20"));
}

#[tokio::test]
async fn a_file_that_breaks_off_is_not_taken_for_a_whole_one() {
    let world = World::new();
    world.keep(fakes::ENDLESS, Ok(JPEG));
    let endless = world.attach(|_, media| media.url = format!("https://files.test/{}", fakes::ENDLESS));
    world.keep(fakes::BROKEN, Ok(JPEG));
    let broken = world.attach(|_, media| media.url = format!("https://files.test/{}", fakes::BROKEN));
    for (id, is_whole) in [(endless, true), (broken, false)] {
        let asked =
            request("GET", &path(id), None).insert_header(("Authorization", format!("Bearer {ADMIN}")));
        let answer = world.open(asked).await;
        assert_eq!(answer.status().as_u16(), 200);
        assert_eq!(to_bytes(answer.into_body()).await.is_ok(), is_whole);
    }
}

#[tokio::test]
async fn why_there_is_no_file_is_told_by_name() {
    let world = World::new();
    let table = [
        (Unfetched::HostNotAllowed, 409, "host_not_allowed"),
        (Unfetched::Gone, 410, "gone"),
        (Unfetched::TooLarge, 413, "too_large"),
        (Unfetched::Busy, 503, "unavailable"),
        (Unfetched::Failed("status 500".to_owned()), 503, "unavailable"),
    ];
    for (unfetched, status, code) in table {
        world.album.files.lock().unwrap().clear();
        world.keep("cat", Err(unfetched));
        let id = world.attach(|_, _| {});
        assert_eq!(world.get(&path(id)).await.problem(), (status, code.to_owned()));
    }
    let text = fakes::message(2, "Hello");
    let without = text.id;
    world.place(text);
    assert_eq!(world.get(&path(without)).await.problem(), (404, "not_found".to_owned()));
    assert_eq!(world.get(&path(Uuid::now_v7())).await.status, 404);
    let id = world.attach(|_, _| {});
    let token = Token {
        id: Uuid::now_v7(),
        name: "shop".to_owned(),
        role: Role::Read,
        channels: Some(vec!["shop".to_owned()]),
        agent: None,
        expires_at: None,
        created_at: super::NOW,
    };
    world.house.tokens.lock().unwrap().push((token, hash_of("shop")));
    let asked = request("GET", &path(id), None).insert_header(("Authorization", "Bearer shop"));
    assert_eq!(world.send(asked).await.status, 404, "another's channel");
    assert_eq!(world.send(request("GET", &path(id), None)).await.status, 401);
}

#[tokio::test]
async fn a_message_tells_whether_its_file_can_be_had_and_where() {
    let world = World::new();
    let at = |url: &'static str| move |_: &mut Message, media: &mut Media| media.url = url.to_owned();
    let table = [
        (world.attach(at("https://files.test/cat")), "available"),
        (world.attach(at("https://elsewhere.test/cat")), "host_not_allowed"),
        (world.attach(at("file:///etc/passwd")), "host_not_allowed"),
        (world.attach(at("")), "available"),
        (
            world.attach(|message, media| (message.provider_message_id, media.url) = (None, String::new())),
            "gone",
        ),
        (world.attach(|_, media| (media.is_too_large, media.url) = (true, String::new())), "too_large"),
    ];
    for (id, state) in table {
        let shown = world.get(&format!("/api/v1/messages/{id}")).await.json();
        assert_eq!((&shown["media"]["state"], &shown["media"]["url"]), (&state.into(), &path(id).into()));
    }
}
