//! Requests that come slowly, and hold a connection for as long as they are waited for.

use std::time::Duration;

use actix_web::{
    body::to_bytes,
    dev::Payload,
    test::{call_service, init_service},
};
use bytes::Bytes;
use futures_util::stream;
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
