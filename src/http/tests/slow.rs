//! Requests that come slowly, and hold a connection for as long as they are waited for.

use std::time::Duration;

use actix_web::{
    body::to_bytes,
    dev::Payload,
    test::{call_service, init_service},
};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, sleep};

use super::{ADMIN, World, fakes, request};
use crate::flow::back_office::registry::Role;

/// A body that begins so, and of which a byte comes each second, for good.
fn trickle(beginning: &'static str) -> Payload {
    let body = stream::unfold(beginning, |piece| async move {
        sleep(Duration::from_secs(1)).await;
        Some((Ok(Bytes::from_static(piece.as_bytes())), "x"))
    });
    Payload::Stream { payload: Box::pin(body) }
}

/// A body of which a piece comes every five seconds.
fn every_five_seconds(pieces: [&'static str; 2]) -> Payload {
    let body = stream::iter(pieces).then(|piece| async move {
        sleep(Duration::from_secs(5)).await;
        Ok(Bytes::from_static(piece.as_bytes()))
    });
    Payload::Stream { payload: Box::pin(body) }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_trickles_is_cut_off() {
    let form = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n";
    for (kind, beginning, seconds) in
        [("application/json", "{\"text\":\"", 30), ("multipart/form-data; boundary=x", form, 120)]
    {
        let world = World::new();
        let id = world.shelf.put(fakes::overview(fakes::conversation("default", "6580000001@c.us")));
        let asked = request("POST", &format!("/api/v1/conversations/{id}/messages"), None)
            .insert_header(("Authorization", format!("Bearer {ADMIN}")))
            .insert_header(("Content-Type", kind));
        let (asked, _) = asked.to_request().replace_payload(trickle(beginning));
        let app = init_service(super::super::app(world.doors.clone())).await;
        let began = Instant::now();
        let reply = call_service(&app, asked).await;
        assert_eq!((reply.status().as_u16(), began.elapsed().as_secs()), (400, seconds), "{kind}");
        let body = to_bytes(reply.into_body()).await.expect("a whole body");
        let body = String::from_utf8_lossy(&body);
        assert!(body.contains("did not arrive in time"), "{kind}: {body}");
        assert!(world.clerk.heard().is_empty(), "nothing was said");
    }
}

#[tokio::test(start_paused = true)]
async fn whose_forms_arrive_slowly_waits_for_their_own() {
    let world = World::new();
    world.admit("ben", Role::Agent, None, None);
    let id = world.shelf.put(fakes::overview(fakes::conversation("default", "6580000001@c.us")));
    let app = init_service(super::super::app(world.doors.clone())).await;
    let send = async |token: &str, body: Payload| {
        let asked = request("POST", &format!("/api/v1/conversations/{id}/messages"), None)
            .insert_header(("Authorization", format!("Bearer {token}")))
            .insert_header(("Content-Type", "multipart/form-data; boundary=x"));
        let (asked, _) = asked.to_request().replace_payload(body);
        let began = Instant::now();
        let reply = call_service(&app, asked).await;
        (reply.status().as_u16(), began.elapsed().as_secs())
    };
    let slow = || trickle("--x\r\n");
    let at_once = || Payload::from(Bytes::from_static(b"--x--\r\n"));
    let later = async |token| {
        sleep(Duration::from_secs(1)).await;
        send(token, at_once()).await
    };
    let answers = tokio::join!(send(ADMIN, slow()), send(ADMIN, slow()), later(ADMIN), later("ben"));
    assert_eq!(answers, ((400, 120), (400, 120), (503, 10), (400, 0)));
}

#[tokio::test(start_paused = true)]
async fn who_is_let_go_while_their_body_arrives_does_nothing_with_it() {
    let form = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nHello\r\n--x";
    for (path, kind, [beginning, rest], is_let_go, wanted) in [
        ("tokens", "application/json", [r#"{"name":"#, r#""backdoor","role":"admin"}"#], true, 401),
        ("tokens", "application/json", [r#"{"name":"#, r#""website","role":"admin"}"#], false, 201),
        ("agents/ID/link", "application/json", ["{", "}"], true, 401),
        ("conversations/ID/messages", "application/json", [r#"{"text":"#, r#""Bye"}"#], true, 401),
        ("conversations/ID/messages", "multipart/form-data; boundary=x", [form, "--\r\n"], true, 401),
        ("conversations/ID/messages", "multipart/form-data; boundary=x", [form, "--\r\n"], false, 202),
    ] {
        let world = World::new();
        world.admit("ben", Role::Admin, None, None);
        let id = world.shelf.put(fakes::overview(fakes::conversation("default", "6580000001@c.us")));
        let asked = request("POST", &format!("/api/v1/{}", path.replace("ID", &id.to_string())), None)
            .insert_header(("Authorization", "Bearer ben"))
            .insert_header(("Content-Type", kind));
        let (asked, _) = asked.to_request().replace_payload(every_five_seconds([beginning, rest]));
        let app = init_service(super::super::app(world.doors.clone())).await;
        let letting_go = async {
            sleep(Duration::from_secs(2)).await;
            if is_let_go {
                world.house.tokens.lock().unwrap().clear();
            }
        };
        let (reply, ()) = tokio::join!(call_service(&app, asked), letting_go);
        assert_eq!(reply.status().as_u16(), wanted, "{path} {kind}");
        if is_let_go {
            assert!(world.house.tokens.lock().unwrap().is_empty(), "{path}: no other token");
            assert!(world.clerk.heard().is_empty(), "{path}: nothing was said");
        }
    }
}
