//! Far more follow-ups than ever are stopped, until a person has looked.

use baton::flow::ledger::Work;
use serde_json::{Value, json};

use crate::world::{CHANNEL, World, on_both_stores};

on_both_stores!(
    a_day_with_far_too_many_follow_ups_is_stopped_until_a_person_has_looked,
    a_shop_that_sends_as_many_as_ever_is_not_stopped,
    what_is_owed_already_waits_too_and_does_not_look_stuck,
    of_two_instances_one_latches_the_brake_and_both_go_by_it,
);

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// More than so many times the best day.
const TIMES: i64 = 3;

fn with_follow_ups(world: &World) {
    world.rules(|policy| {
        policy.follow_up_after_ms = vec![HOUR_MS];
        policy.follow_up_text = Some("Still there?".to_owned());
    });
}

/// So many contacts ask, are answered, and fall silent for an hour.
async fn fall_silent(world: &World, who: std::ops::Range<usize>) {
    for contact in who {
        world.assistant_says("Two condos.");
        let chat = format!("65800{contact:05}@c.us");
        world.chat(&chat).writes(&format!("M{contact}"), "Show me condos").await;
    }
    world.after(3_000).await;
    world.after(HOUR_MS).await;
}

fn followed_up(world: &World) -> usize {
    world.gateway.posts().iter().filter(|post| post.text == "Still there?").count()
}

async fn channel(world: &World) -> Value {
    world.get(&format!("/api/v1/channels/{CHANNEL}")).await
}

async fn a_day_with_far_too_many_follow_ups_is_stopped_until_a_person_has_looked(world: &World) {
    with_follow_ups(world);
    fall_silent(world, 0..49).await;
    assert!(!world.process().brake(TIMES).await, "no best day yet, but fewer than fifty");
    assert!(channel(world).await["brake"].is_null());
    fall_silent(world, 49..50).await;
    assert!(world.process().brake(TIMES).await);
    let brake = channel(world).await["brake"].clone();
    assert_eq!((&brake["sends"], &brake["best"]), (&json!(50), &json!(0)));
    let told = world.get("/api/v1/events?type=brake_latched").await;
    assert_eq!(told["items"][0]["details"], json!({ "sends": 50, "best": 0, "times": 3 }));

    // Who writes is answered; who falls silent is not followed up.
    fall_silent(world, 50..52).await;
    assert_eq!(world.process().found(Work::FollowUp).await, 0);
    assert_eq!((world.gateway.posts().len(), followed_up(world)), (102, 50));
    // Neither the next day ends it nor another start.
    world.crash().await;
    world.after(DAY_MS).await;
    assert!(!world.process().brake(TIMES).await, "it is latched already");
    world.after(DAY_MS).await;
    assert_eq!(followed_up(world), 50);

    let release = format!("/api/v1/channels/{CHANNEL}/release-brake");
    let reply = world.ask("POST", &release, None).await;
    assert_eq!((reply.status, &reply.body["brake"]), (200, &Value::Null));
    world.drain().await;
    assert_eq!(followed_up(world), 52, "two days late, and not lost");
    assert!(!world.process().brake(TIMES).await, "counted anew");
    assert_eq!(world.ask("POST", &release, None).await.status, 200, "nothing happens");
    let deeds = world.get("/api/v1/audit?action=brake_released").await;
    assert_eq!(deeds["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(deeds["items"][0]["subject"], CHANNEL);
    let told = world.get("/api/v1/events?type=brake_released").await;
    assert_eq!(told["items"].as_array().map(Vec::len), Some(1));
}

async fn a_shop_that_sends_as_many_as_ever_is_not_stopped(world: &World) {
    with_follow_ups(world);
    fall_silent(world, 0..20).await;
    assert!(!world.process().brake(TIMES).await);
    world.after(DAY_MS).await;
    fall_silent(world, 20..80).await;
    assert!(!world.process().brake(TIMES).await, "sixty are three times twenty");
    assert!(!world.process().brake(0).await, "off");
    fall_silent(world, 80..81).await;
    assert!(!world.process().brake(0).await, "off");
    assert!(world.process().brake(TIMES).await, "sixty-one are more");
    let brake = channel(world).await["brake"].clone();
    assert_eq!((&brake["sends"], &brake["best"]), (&json!(61), &json!(20)));
}

async fn of_two_instances_one_latches_the_brake_and_both_go_by_it(world: &World) {
    with_follow_ups(world);
    fall_silent(world, 0..50).await;
    let other = world.another_beside().await;
    let latched = [world.process().brake(TIMES).await, other.brake(TIMES).await];
    assert_eq!(latched, [true, false]);
    let told = world.get("/api/v1/events?type=brake_latched").await;
    assert_eq!(told["items"].as_array().map(Vec::len), Some(1));
    let first = world.turn_to(other);
    fall_silent(world, 50..51).await;
    assert_eq!(followed_up(world), 50);

    // On the day on which it was latched: what had been sent before does not latch it again.
    let release = format!("/api/v1/channels/{CHANNEL}/release-brake");
    assert_eq!(world.ask("POST", &release, None).await.status, 200);
    assert_eq!([first.brake(TIMES).await, world.process().brake(TIMES).await], [false, false]);
    world.drain().await;
    assert_eq!(followed_up(world), 51);
    first.stop().await;
}

async fn what_is_owed_already_waits_too_and_does_not_look_stuck(world: &World) {
    with_follow_ups(world);
    fall_silent(world, 0..50).await;
    world.assistant_says("Two condos.");
    world.chat("6580099999@c.us").writes("M99", "Show me condos").await;
    world.after(3_000).await;
    world.state("notAuthorized").await;
    world.after(HOUR_MS).await;
    world.state("authorized").await;
    assert!(world.process().brake(TIMES).await);
    world.after(DAY_MS).await;
    assert_eq!(followed_up(world), 50);
    let depths = world.process().store.places().depths(None).await.expect("the store answers");
    let owed = depths.outbox.iter().find(|(lane, _)| lane == "proactive").map(|(_, count)| *count);
    let swept = [world.process().found(Work::Send).await, world.process().found(Work::FollowUp).await];
    assert_eq!(swept, [0, 0], "what is held hides nothing from the sweeps");
    assert_eq!((owed, depths.outbox_oldest_ms), (Some(1), 0));

    let release = format!("/api/v1/channels/{CHANNEL}/release-brake");
    assert_eq!(world.ask("POST", &release, None).await.status, 200);
    world.drain().await;
    assert_eq!(followed_up(world), 51);
}
