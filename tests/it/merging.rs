//! What happens while two conversations become one, between two steps of that, and as long as they wait for it.

use baton::domain::message::ECHO_AWAITED_MS;
use serde_json::{Value, json};

use crate::{
    merge::{HIDDEN, both_begin, shows_both, two_that_wait},
    world::{Answer, Chat, Step, World, on_both_stores},
};

on_both_stores!(
    a_takeover_between_two_steps_is_one_of_both,
    a_takeover_waits_for_what_is_being_sent_in_the_other,
    that_the_later_one_has_ended_is_told_whoever_takes_over_just_then,
    who_is_given_back_before_the_other_is_told_stays_with_the_assistant,
    who_is_erased_meanwhile_is_erased_under_both_ids,
    who_writes_under_another_id_is_chased_under_neither,
    who_writes_while_the_two_wait_is_chased_in_neither,
    who_writes_in_the_earlier_one_is_not_chased_in_the_later,
);

const HOUR_MS: i64 = 3_600_000;

/// The ids of a person.
fn ids(number: usize) -> (String, String) {
    (format!("658000000{number}@c.us"), format!("10000000000000{number}@lid"))
}

/// Both begin, and are answered.
async fn begin(chats: [&Chat<'_>; 2]) {
    for (chat, id) in chats.into_iter().zip(["M1", "M2"]) {
        chat.world.assistant_says("Hello!");
        chat.writes(id, "Hi, it is my secret").await;
        chat.world.after(3_000).await;
    }
}

fn shown(chat: &Chat<'_>) -> Vec<String> {
    chat.world.gateway.shown_to(chat.id).into_iter().map(|post| post.text).collect()
}

async fn a_takeover_between_two_steps_is_one_of_both(world: &World) {
    for steps in 1..=3 {
        let (phone, hidden) = ids(steps);
        let (first, second) = (world.chat(&phone), world.chat(&hidden));
        begin([&first, &second]).await;
        let hold = world.process().fuse.holds_step(steps);
        let (taken, ()) = tokio::join!(shows_both(&first, &hidden, "M3", "It is me"), async {
            hold.reached().await;
            assert_eq!(first.take_over().await["settled"], true);
            assert_eq!(second.conversation().await["mode"], "HUMAN", "with the receipt, after {steps} steps");
            hold.release();
        });
        assert_eq!(taken, "accepted");
        second.writes("M4", "Are you there?").await;
        world.after(60_000).await;
        let stays = first.conversation().await;
        assert_eq!((&stays["id"], &stays["mode"]), (&second.conversation().await["id"], &json!("HUMAN")));
        assert_eq!([shown(&first), shown(&second)], [["Hello!"], ["Hello!"]], "the assistant is silent");
    }
}

async fn that_the_later_one_has_ended_is_told_whoever_takes_over_just_then(world: &World) {
    let (phone, hidden) = ids(1);
    let (first, second) = (world.chat(&phone), world.chat(&hidden));
    begin([&first, &second]).await;
    // The later one has ended, and the earlier one does not say so yet.
    let hold = world.process().fuse.holds_step(4);
    tokio::join!(shows_both(&first, &hidden, "M3", "It is me"), async {
        hold.reached().await;
        assert_eq!(first.take_over().await["settled"], true);
        hold.release();
    });
    world.after(60_000).await;
    let stays = first.conversation().await["id"].clone();
    let events = world.get("/api/v1/events?type=conversation_updated").await;
    let events = events["items"].as_array().expect("a list").iter();
    let told = events.filter(|it| it["action"] == "merged" && it["conversation_id"] == stays).count();
    assert_eq!(told, 1, "the earlier one says so once");
}

async fn a_takeover_waits_for_what_is_being_sent_in_the_other(world: &World) {
    let (first, second) = both_begin(world).await;
    let send = world.gateway.holds();
    world.assistant_says("Two condos.");
    second.writes("M3", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&send).await;
    assert_eq!(shows_both(&first, HIDDEN, "M4", "It is me").await, "accepted");
    let said = first.agent_says("This is Ana.").await;
    assert_eq!(second.conversation().await["mode"], "HUMAN", "with the answer");
    let condos = second.message("Two condos.").await;
    let impatient = first.switch(json!({ "mode": "HUMAN", "settle_ms": 0 })).await;
    for receipt in [&said["takeover"], &impatient] {
        assert_eq!(
            (&receipt["settled"], &receipt["in_flight"]),
            (&json!(false), &json!([condos["id"]])),
            "{receipt}"
        );
    }
    let (receipt, ()) = tokio::join!(first.take_over(), async {
        send.release();
        world.drain().await;
    });
    assert_eq!((&receipt["settled"], &receipt["in_flight"]), (&json!(true), &json!([])));
    assert_eq!(shown(&second), ["Hello!", "Two condos."]);
}

async fn who_is_given_back_before_the_other_is_told_stays_with_the_assistant(world: &World) {
    let (first, second) = two_that_wait(world).await;
    for chat in [&first, &second] {
        chat.release().await;
    }
    // Before it is looked at what is to be told, and after.
    for (steps, told) in [(1, "AI"), (2, "HUMAN")] {
        world.after(1_000).await;
        let hold = world.process().fuse.holds_step(steps);
        tokio::join!(first.take_over(), async {
            hold.reached().await;
            world.pass(1_000);
            first.release().await;
            world.pass(1_000);
            hold.release();
        });
        assert_eq!(second.conversation().await["mode"], told, "after {steps} steps");
    }
    assert_eq!(second.decide("POST", "This is Ana.", "/confirm").await.status, 200);
    world.after(ECHO_AWAITED_MS).await;
    let stays = first.conversation().await;
    assert_eq!((&stays["id"], &stays["mode"]), (&second.conversation().await["id"], &json!("AI")));
}

async fn who_is_erased_meanwhile_is_erased_under_both_ids(world: &World) {
    for (number, by_the_later) in [(1, false), (2, true)] {
        let (phone, hidden) = ids(number);
        let (first, second) = (world.chat(&phone), world.chat(&hidden));
        begin([&first, &second]).await;
        let named = if by_the_later { &second } else { &first };
        let path = named.path("").await;
        let path = format!("{}?confirm={}", path.trim_end_matches('/'), named.id);
        let hold = world.process().fuse.holds_step(0);
        let (erased, ()) = tokio::join!(world.ask("DELETE", &path, None), async {
            hold.reached().await;
            assert_eq!(shows_both(&second, &phone, "M3", "More secrets").await, "accepted");
            hold.release();
        });
        assert_eq!(erased.status, 204, "{erased:?}");
        for words in [&phone[..10], &hidden[..15], "secret"] {
            assert_eq!(world.finds(words).await, [""; 0], "{words}, by the later: {by_the_later}");
        }
        // Late, and under the other id.
        assert_eq!(first.writes("M2", "Hi, it is my secret").await, "ignored");
        assert_eq!(second.writes("M1", "Hi, it is my secret").await, "ignored");
        assert_eq!([first.conversation().await, second.conversation().await], [Value::Null, Value::Null]);
    }
}

fn follows_up(world: &World) {
    world.rules(|policy| {
        policy.follow_up_after_ms = vec![HOUR_MS];
        policy.follow_up_text = Some("Still there?".to_owned());
    });
}

async fn who_writes_under_another_id_is_chased_under_neither(world: &World) {
    follows_up(world);
    // While it is pending, and while it waits to leave.
    for (number, is_queued) in [(1, false), (2, true)] {
        let (phone, hidden) = ids(number);
        let (first, second) = (world.chat(&phone), world.chat(&hidden));
        world.assistant_says("Two condos.");
        first.writes("M1", "Show me condos").await;
        world.after(3_000).await;
        if is_queued {
            world.state("notAuthorized").await;
            world.after(HOUR_MS).await;
            assert_eq!(first.message("Still there?").await["delivery"]["state"], "queued");
        }
        // No webhook shows that they are one: it is asked for.
        world.gateway.knows_as_one(&phone, &hidden);
        world.assistant_says("Two houses.");
        second.writes("M2", "Show me houses").await;
        world.after(3_000).await;
        world.state("authorized").await;
        for ms in [60_000, HOUR_MS] {
            world.after(ms).await;
        }
        assert_eq!(first.conversation().await["id"], second.conversation().await["id"]);
        assert_eq!([shown(&first), shown(&second)], [["Two condos."], ["Two houses."]], "{is_queued}");
    }
}

async fn who_writes_while_the_two_wait_is_chased_in_neither(world: &World) {
    follows_up(world);
    let (first, second) = both_begin(world).await;
    world.gateway.answers(Answer::LostBefore);
    world.assistant_says("Two condos.");
    second.writes("M3", "Show me condos").await;
    world.after(3_000).await;
    world.assistant_says("Yes?");
    assert_eq!(shows_both(&first, HIDDEN, "M4", "It is me").await, "accepted");
    world.after(3_000).await;
    assert_ne!(first.conversation().await["id"], second.conversation().await["id"], "they wait");
    assert!(first.conversation().await["follow_up"].is_object());
    world.assistant.add(Step::says("A moment.").always());
    second.writes("M5", "Is it large?").await;
    world.after(3_000).await;
    assert_ne!(first.conversation().await["id"], second.conversation().await["id"], "they wait still");
    assert_eq!(first.conversation().await["follow_up"], Value::Null);
    world.after(HOUR_MS).await;
    assert_eq!(shown(&first), ["Hello!", "Yes?"]);
}

async fn who_writes_in_the_earlier_one_is_not_chased_in_the_later(world: &World) {
    follows_up(world);
    let (first, second) = both_begin(world).await;
    world.state("notAuthorized").await;
    world.after(HOUR_MS).await;
    assert_eq!(second.message("Still there?").await["delivery"]["state"], "queued");
    world.assistant_says("Yes?");
    assert_eq!(shows_both(&first, HIDDEN, "M4", "It is me").await, "accepted");
    world.after(3_000).await;
    world.state("authorized").await;
    world.after(60_000).await;
    assert_eq!(shown(&second), ["Hello!"]);
    assert_eq!(shown(&first), ["Hello!", "Yes?"]);
    assert_eq!(first.conversation().await["id"], second.conversation().await["id"]);
}
