//! One follow-up at most waits in a conversation, and whatever the contact does calls it off.

use std::sync::Arc;

use baton::domain::{hours::Hours, time::Time};
use serde_json::json;

use crate::world::{Step, World, green_api, on_both_stores};

on_both_stores!(
    a_reply_cancels_the_follow_up,
    a_call_that_the_contact_answers_cancels_the_follow_up,
    a_silent_contact_is_followed_up_once,
    a_sequence_goes_on_until_the_contact_replies,
    a_sequence_ends_with_a_takeover_and_after_what_somebody_planned,
    scheduling_again_replaces_the_one_that_waits,
    a_takeover_cancels_the_follow_up_and_allows_no_other,
    a_follow_up_that_is_withdrawn_on_its_way_was_not_sent,
    a_follow_up_that_waits_for_the_phone_is_called_off_and_replaced_like_any_other,
    in_quiet_hours_a_follow_up_waits_for_the_morning,
    a_follow_up_that_an_outage_made_late_is_withheld,
    the_assistant_writes_a_follow_up_without_words_of_its_own,
    a_follow_up_whose_beginning_was_not_heard_of_is_written_all_the_same,
    a_follow_up_is_scheduled_for_a_time_at_which_it_can_leave,
);

const MEI: &str = "6580000001@c.us";
const HOUR_MS: i64 = 3_600_000;

/// Mei asks, the assistant answers and schedules a follow-up in a day.
async fn a_follow_up_is_scheduled(world: &World) {
    let call = json!({ "delay_hours": 24, "text": "Still looking?" });
    world.assistant.add(Step::says("Two condos.").and_calls("schedule_follow_up", &call));
    world.chat(MEI).writes("M1", "Show me condos").await;
    world.after(3_000).await;
}

/// Scenario 5 of the race conditions: the contact replies before the follow-up, and another is scheduled.
async fn a_reply_cancels_the_follow_up(world: &World) {
    let mei = world.chat(MEI);
    a_follow_up_is_scheduled(world).await;
    assert!(!mei.conversation().await["follow_up"].is_null());

    world.after(HOUR_MS).await;
    mei.writes("M2", "In Orchard").await;
    assert!(mei.conversation().await["follow_up"].is_null(), "cancelled with the message that replies");

    let call = json!({ "delay_hours": 24, "text": "Shall I book a visit?" });
    world.assistant.add(Step::says("Two in Orchard.").and_calls("schedule_follow_up", &call));
    world.after(3_000).await;
    world.after(24 * HOUR_MS).await;
    world.after(48 * HOUR_MS).await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        contact: In Orchard [answered]
        assistant: Two in Orchard. [sent]
        assistant: Shall I book a visit? [sent]
        * follow_up_cancelled
        = AI 1, rollout
        = the phone shows: Two condos. | Two in Orchard. | Shall I book a visit?
        ",
    )
    .await;
}

async fn a_silent_contact_is_followed_up_once(world: &World) {
    world.rules(|policy| {
        policy.follow_up_after_ms = vec![HOUR_MS];
        policy.follow_up_text = Some("Still there?".to_owned());
    });
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    for _ in 0..3 {
        world.after(HOUR_MS).await;
    }
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        assistant: Still there? [sent]
        = AI 1, rollout
        = the phone shows: Two condos. | Still there?
        ",
    )
    .await;
}

/// After an hour, and two hours after that; the third the assistant writes, a day later.
fn a_sequence(world: &World) {
    world.rules(|policy| {
        policy.follow_up_after_ms = vec![HOUR_MS, 2 * HOUR_MS, 24 * HOUR_MS];
        policy.follow_up_text = Some("Still there?\n---\nThe viewing is on Friday.".to_owned());
    });
    world.assistant_says("Two condos.");
}

async fn a_sequence_goes_on_until_the_contact_replies(world: &World) {
    a_sequence(world);
    let mei = world.chat(MEI);
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let due_in_h = async || {
        let due = mei.conversation().await["follow_up"]["due_at"].as_str().map(str::to_owned);
        due.map(|due| Time::parse(&due).expect("a moment").since(world.now()) / HOUR_MS)
    };
    world.after(HOUR_MS).await;
    assert_eq!(due_in_h().await, Some(2), "so long after the one before");
    world.after(2 * HOUR_MS).await;
    assert_eq!(due_in_h().await, Some(24));
    world.assistant_says("I can hold one for you until Sunday.");
    world.after(24 * HOUR_MS).await;
    world.after(3_000).await;
    assert_eq!(due_in_h().await, None, "that was the last");

    world.assistant_says("It is 1.2 million.");
    mei.writes("M2", "How much is it?").await;
    world.after(3_000).await;
    world.after(HOUR_MS).await;
    world.assistant_says("Noted.");
    mei.writes("M3", "Too much").await;
    world.after(3_000).await;
    assert_eq!(due_in_h().await, Some(1), "and it begins anew");
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        assistant: Still there? [sent]
        assistant: The viewing is on Friday. [sent]
        assistant: I can hold one for you until Sunday. [sent]
        contact: How much is it? [answered]
        assistant: It is 1.2 million. [sent]
        assistant: Still there? [sent]
        contact: Too much [answered]
        assistant: Noted. [sent]
        * follow_up_cancelled
        = AI 1, rollout
        = a follow-up is pending
        = the phone shows: Two condos. | Still there? | The viewing is on Friday. | I can hold one for you until Sunday. | \
          It is 1.2 million. | Still there? | Noted.
        ",
    )
    .await;
}

async fn a_sequence_ends_with_a_takeover_and_after_what_somebody_planned(world: &World) {
    a_sequence(world);
    let mei = world.chat(MEI);
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    world.after(HOUR_MS).await;
    assert_eq!(mei.take_over().await["follow_up_cancelled"], true, "the second waited");
    mei.release().await;
    let wish = json!({ "delay_ms": HOUR_MS, "text": "One hour has passed." });
    assert_eq!(mei.ask("PUT", "follow-up", Some(wish)).await.status, 201);
    world.after(HOUR_MS).await;
    for _ in 0..3 {
        world.after(24 * HOUR_MS).await;
    }
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        assistant: Still there? [sent]
        assistant: One hour has passed. [sent]
        * follow_up_cancelled
        * mode_changed
        * agent_took_over
        * mode_changed
        = AI 3, released
        = the phone shows: Two condos. | Still there? | One hour has passed.
        ",
    )
    .await;
}

async fn scheduling_again_replaces_the_one_that_waits(world: &World) {
    let mei = world.chat(MEI);
    a_follow_up_is_scheduled(world).await;
    let wish = json!({ "delay_ms": HOUR_MS, "text": "One hour has passed." });
    assert_eq!(mei.ask("PUT", "follow-up", Some(wish.clone())).await.status, 200, "replaced");
    let pending = world.get("/api/v1/follow-ups?state=pending").await;
    assert_eq!(pending["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(mei.ask("DELETE", "follow-up", None).await.status, 204);
    assert_eq!(mei.ask("DELETE", "follow-up", None).await.status, 404);
    assert_eq!(mei.ask("PUT", "follow-up", Some(wish)).await.status, 201, "created");
    world.after(48 * HOUR_MS).await;
    assert_eq!(mei.happened("follow_up_withheld").await, 1, "an hour late at most");
}

async fn a_takeover_cancels_the_follow_up_and_allows_no_other(world: &World) {
    let mei = world.chat(MEI);
    a_follow_up_is_scheduled(world).await;
    assert_eq!(mei.take_over().await["follow_up_cancelled"], true);
    let refused = mei.ask("PUT", "follow-up", Some(json!({ "delay_ms": 1_000, "text": "Hm?" }))).await;
    assert_eq!((refused.status, &refused.body["code"]), (409, &json!("follow_up_not_allowed")));
    mei.release().await;
    world.after(24 * HOUR_MS).await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        * follow_up_cancelled
        * mode_changed
        * agent_took_over
        * mode_changed
        = AI 3, released
        = the phone shows: Two condos.
        ",
    )
    .await;
}

async fn a_follow_up_that_is_withdrawn_on_its_way_was_not_sent(world: &World) {
    let mei = world.chat(MEI);
    a_follow_up_is_scheduled(world).await;
    world.state("notAuthorized").await;
    world.after(25 * HOUR_MS).await;
    let of =
        async |state: &str| world.get(&format!("/api/v1/follow-ups?state={state}")).await["items"].clone();
    let waits = of("pending").await;
    assert_eq!(
        (&waits[0]["state"], waits[0]["message_id"].is_string()),
        (&json!("pending"), true),
        "{waits}"
    );
    assert_eq!(of("sent").await, json!([]), "it waits for the phone");
    mei.take_over().await;
    assert_eq!((of("sent").await, of("pending").await), (json!([]), json!([])));
    let withheld = of("withheld").await;
    assert_eq!(withheld.as_array().map(Vec::len), Some(1), "{withheld}");
    assert_eq!((&withheld[0]["state"], &withheld[0]["reason"]), (&json!("withheld"), &json!("mode_changed")));
}

async fn a_follow_up_that_waits_for_the_phone_is_called_off_and_replaced_like_any_other(world: &World) {
    let mei = world.chat(MEI);
    a_follow_up_is_scheduled(world).await;
    world.state("notAuthorized").await;
    world.after(24 * HOUR_MS).await;
    let pending = async || {
        let one = mei.ask("GET", "follow-up", None).await;
        let listed = world.get("/api/v1/follow-ups").await["items"].clone();
        let of_it = mei.conversation().await["follow_up"].clone();
        let now = world.get("/api/v1/stats").await["now"]["follow_ups"].clone();
        let shown = if one.status == 200 { json!([one.body]) } else { json!([]) };
        let shown_there = if of_it.is_null() { json!([]) } else { json!([of_it]) };
        assert_eq!((&shown, &shown_there), (&listed, &listed));
        assert_eq!(json!(listed.as_array().map(Vec::len)), now);
        listed
    };
    let waits = pending().await;
    assert_eq!((&waits[0]["state"], waits[0]["message_id"].is_string()), (&json!("pending"), true));
    assert_eq!(mei.ask("DELETE", "follow-up", None).await.status, 204);
    assert_eq!(pending().await, json!([]));
    assert_eq!(mei.ask("DELETE", "follow-up", None).await.status, 404);

    for (text, status) in [("First?", 201), ("Second?", 200)] {
        let wish = json!({ "delay_ms": 1_000, "text": text });
        assert_eq!(mei.ask("PUT", "follow-up", Some(wish)).await.status, status, "{text}");
        world.after(2_000).await;
        let waits = pending().await;
        assert_eq!((waits.as_array().map(Vec::len), &waits[0]["text"]), (Some(1), &json!(text)));
    }
    world.state("authorized").await;
    world.after(2_000).await;
    let shown = world.gateway.shown_to(MEI);
    assert_eq!(shown.iter().map(|post| post.text.as_str()).collect::<Vec<_>>(), ["Two condos.", "Second?"]);
}

async fn in_quiet_hours_a_follow_up_waits_for_the_morning(world: &World) {
    // It is four in the afternoon there.
    let quiet = Hours::parse("21:00-08:00 Asia/Singapore", "UTC").expect("these are hours");
    world.rules(|policy| policy.quiet_hours = Some(Arc::new(quiet)));
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let wish = json!({ "delay_ms": 8 * HOUR_MS, "text": "Still looking?" });
    let follow_up = mei.ask("PUT", "follow-up", Some(wish)).await.body;
    assert_eq!(follow_up["due_at"], "2026-01-06T00:00:00.000Z");
    world.after(8 * HOUR_MS).await;
    assert_eq!(world.gateway.posts().len(), 1, "it is midnight");
    world.after(8 * HOUR_MS).await;
    assert_eq!(world.gateway.posts()[1].text, "Still looking?");
}

async fn a_follow_up_that_an_outage_made_late_is_withheld(world: &World) {
    let mei = world.chat(MEI);
    a_follow_up_is_scheduled(world).await;
    world.pass(26 * HOUR_MS);
    world.crash().await;
    world.drain().await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        * follow_up_withheld
        = AI 1, rollout
        = the phone shows: Two condos.
        ",
    )
    .await;
}

async fn the_assistant_writes_a_follow_up_without_words_of_its_own(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let wish = json!({ "delay_ms": HOUR_MS, "instructions": "Offer a visit." });
    assert_eq!(mei.ask("PUT", "follow-up", Some(wish)).await.status, 201);
    // The contact replies while it is being written.
    let words = world.assistant_holds("Shall I book a visit?");
    world.pass(HOUR_MS);
    world.drain_until(&words).await;
    mei.writes("M2", "In Orchard").await;
    words.release();
    world.drain().await;
    world.assistant_says("Two in Orchard.");
    world.after(3_000).await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        contact: In Orchard [answered]
        assistant: Two in Orchard. [sent]
        * follow_up_cancelled
        * turn_superseded: restarted
        = AI 1, rollout
        = the phone shows: Two condos. | Two in Orchard.
        ",
    )
    .await;
    assert!(format!("{:?}", world.assistant.requests()[1].lines).contains("Offer a visit."));
}

async fn a_follow_up_whose_beginning_was_not_heard_of_is_written_all_the_same(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let wish = json!({ "delay_ms": HOUR_MS, "instructions": "Offer a visit." });
    assert_eq!(mei.ask("PUT", "follow-up", Some(wish)).await.status, 201);
    world.assistant_says("Shall I book a visit?");
    world.process().fuse.loses_next_answer();
    world.after(HOUR_MS).await;
    assert_eq!(world.gateway.posts().len(), 2, "nobody waits for its lease to end");
    assert_eq!(world.assistant.requests().len(), 2);
}

async fn a_follow_up_is_scheduled_for_a_time_at_which_it_can_leave(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    for (later_ms, status) in
        [(-2 * HOUR_MS, 400), (-HOUR_MS / 2, 201), (365 * 24 * HOUR_MS, 200), (8_000 * 24 * HOUR_MS, 400)]
    {
        let due_at = world.now().plus_ms(later_ms).to_string();
        let reply = mei.ask("PUT", "follow-up", Some(json!({ "due_at": due_at, "text": "Hi" }))).await;
        assert_eq!(reply.status, status, "{due_at}: {reply:?}");
        if status == 400 {
            assert_eq!(reply.body["errors"][0]["pointer"], "/due_at");
        }
    }
}

async fn a_call_that_the_contact_answers_cancels_the_follow_up(world: &World) {
    let mei = world.chat(MEI);
    a_follow_up_is_scheduled(world).await;
    let call = |status| green_api::phone_calls(MEI, "C1", world.now().0 / 1_000, status);
    assert_eq!(world.webhook(&call("hungUp")).await, "accepted");
    assert!(!mei.conversation().await["follow_up"].is_null(), "nobody has answered it");

    world.after(HOUR_MS).await;
    assert_eq!(world.webhook(&call("pickUp")).await, "accepted");
    assert_eq!(world.webhook(&call("pickUp")).await, "duplicate");
    assert!(mei.conversation().await["follow_up"].is_null());
    assert_eq!(mei.conversation().await["mode"], "AI");
    let answered = mei.message("[call answered]").await;
    assert_eq!((&answered["author"], &answered["origin"]), (&json!("agent"), &json!("phone")));
    assert_eq!((&answered["kind"], &answered["delivery"]), (&json!("call"), &json!(null)));
    world.after(48 * HOUR_MS).await;
    assert_eq!(world.gateway.posts().len(), 1, "the answer, and nothing after it");
}
