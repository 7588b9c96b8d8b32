//! Whoever takes over one of the two conversations of a person takes over both, from the dashboard and from the phone.

use baton::domain::message::ECHO_AWAITED_MS;
use serde_json::{Value, json};

use crate::{
    merge::{HIDDEN, PHONE, both_begin, shows_both, two_that_wait},
    world::{World, on_both_stores},
};

on_both_stores!(
    who_answers_one_answers_both,
    who_is_given_back_stays_with_the_assistant,
    a_takeover_of_one_of_two_that_wait_is_one_of_both,
    who_writes_on_the_phone_takes_over_whichever_id_is_shown,
    who_writes_on_the_phone_takes_over_also_when_the_gateway_says_it_later,
    who_writes_on_the_phone_takes_over_also_where_both_ids_have_begun,
    whom_a_person_has_written_to_is_known_under_the_other_id,
    whom_a_person_takes_over_by_a_button_is_taken_over_under_both_ids,
    what_we_sent_is_no_takeover_where_it_is_reported_under_the_other_id,
    what_we_sent_is_no_takeover_where_both_ids_have_begun,
    what_we_sent_to_one_number_makes_nobody_of_another,
);

async fn who_answers_one_answers_both(world: &World) {
    for (n, is_earlier) in [(1, true), (2, false)] {
        let (phone, hidden) = (format!("658000000{n}@c.us"), format!("10000000000000{n}@lid"));
        let (first, second) = (world.chat(&phone), world.chat(&hidden));
        for chat in [&first, &second] {
            world.assistant_says("Hello!");
            chat.writes("M1", "Hi").await;
            world.after(3_000).await;
        }
        let (taken, other) = if is_earlier { (first, second) } else { (second, first) };
        taken.take_over().await;
        assert_eq!(other.conversation().await["mode"], "AI", "nobody knows yet");
        // A burst waits in the other: it is a person's now, too.
        other.writes("M2", "Are you there?").await;
        assert_eq!(shows_both(&other, taken.id, "M3", "Hello?").await, "accepted");
        world.after(60_000).await;
        let stays = first.conversation().await;
        assert_eq!((&stays["mode"], &stays["mode_reason"]), (&json!("HUMAN"), &json!("agent_button")));
        assert_eq!(stays["id"], second.conversation().await["id"]);
        let said = [&phone, &hidden].map(|id| world.gateway.shown_to(id).len());
        assert_eq!(said, [1, 1], "the assistant is silent");
    }
}

async fn who_is_given_back_stays_with_the_assistant(world: &World) {
    let (first, second) = two_that_wait(world).await;
    world.after(1_000).await;
    first.release().await;
    world.assistant_says("Hello again!");
    assert_eq!(shows_both(&first, HIDDEN, "M4", "Still me").await, "accepted");
    world.after(3_000).await;
    assert_eq!(first.conversation().await["mode"], "AI");
    assert_eq!(second.decide("POST", "This is Ana.", "/confirm").await.status, 200);
    // Its echo is waited for.
    world.after(ECHO_AWAITED_MS).await;
    let stays = first.conversation().await;
    assert_eq!((&stays["id"], &stays["mode"]), (&second.conversation().await["id"], &json!("AI")));
}

async fn a_takeover_of_one_of_two_that_wait_is_one_of_both(world: &World) {
    let (first, second) = two_that_wait(world).await;
    let posts = world.gateway.posts().len();
    for (n, (taken, other)) in [(&first, &second), (&second, &first)].into_iter().enumerate() {
        world.after(1_000).await;
        for chat in [taken, other] {
            chat.release().await;
            assert_eq!(chat.conversation().await["mode"], "AI");
        }
        world.after(1_000).await;
        taken.take_over().await;
        let mode = |it: &Value| (it["mode"].clone(), it["mode_reason"].clone());
        let told = other.conversation().await;
        assert_eq!(mode(&told), (json!("HUMAN"), json!("agent_button")), "with the receipt");
        // Nothing shows that they are one.
        other.writes(&format!("W{n}"), "Are you there?").await;
        world.after(60_000).await;
        assert_eq!(world.gateway.posts().len(), posts, "the assistant is silent");
    }
    for (n, (taken, other)) in [(&first, &second), (&second, &first)].into_iter().enumerate() {
        world.after(1_000).await;
        taken.release().await;
        other.release().await;
        world.after(1_000).await;
        assert_eq!(taken.phone_writes(&format!("P{n}"), "This is Ana.").await, "accepted");
        world.drain().await;
        assert_eq!(other.conversation().await["mode"], "HUMAN", "also by the phone");
    }
}

async fn who_writes_on_the_phone_takes_over_whichever_id_is_shown(world: &World) {
    let (hidden, phone) = (world.chat(HIDDEN), world.chat(PHONE));
    world.gateway.knows_as_one(PHONE, HIDDEN);
    world.assistant_says("Hello!");
    hidden.writes("M1", "Hi").await;
    world.after(3_000).await;
    assert_eq!(phone.phone_writes("P1", "This is Ana.").await, "accepted");
    let conversation = hidden.conversation().await;
    assert_eq!(
        (&conversation["mode"], &conversation["mode_reason"]),
        (&json!("HUMAN"), &json!("agent_phone"))
    );
    assert_eq!(conversation["aliases"], json!([PHONE]));
    hidden.writes("M2", "Are you there?").await;
    world.after(60_000).await;
    assert_eq!(world.gateway.posts().len(), 1, "the assistant is silent");
    // Whoever writes first.
    let (first, then) = (world.chat("6580000003@c.us"), world.chat("300000000000003@lid"));
    world.gateway.knows_as_one(first.id, then.id);
    assert_eq!(first.phone_writes("P3", "Hello, this is Ana.").await, "accepted");
    then.writes("M3", "Hello Ana").await;
    world.after(60_000).await;
    assert_eq!(then.conversation().await["id"], first.conversation().await["id"]);
    assert_eq!(world.gateway.shown_to(then.id).len(), 0, "Ana answers");
    // Nobody knows another id of this one.
    let tom = world.chat("6580000002@c.us");
    assert_eq!(tom.phone_writes("P2", "Hello Tom").await, "accepted");
    assert_eq!(tom.conversation().await["mode"], "HUMAN");
}

async fn who_writes_on_the_phone_takes_over_also_when_the_gateway_says_it_later(world: &World) {
    let (hidden, phone) = (world.chat(HIDDEN), world.chat(PHONE));
    world.gateway.knows_as_one(PHONE, HIDDEN);
    world.gateway.keeps_other_ids(true);
    world.assistant_says("Hello!");
    hidden.writes("M1", "Hi").await;
    world.after(3_000).await;
    assert_eq!(phone.phone_writes("P1", "This is Ana.").await, "accepted");
    world.after(40_000).await;
    assert_eq!(hidden.conversation().await["mode"], "AI", "nobody knows yet");
    world.gateway.keeps_other_ids(false);
    world.after(40_000).await;
    let (taken, begun) = (hidden.conversation().await, phone.conversation().await);
    assert_eq!((&taken["mode"], &taken["mode_reason"]), (&json!("HUMAN"), &json!("agent_phone")));
    assert_eq!(taken["id"], begun["id"]);
    hidden.writes("M2", "Are you there?").await;
    world.after(60_000).await;
    assert_eq!(world.gateway.posts().len(), 1, "the assistant is silent");
}

async fn who_writes_on_the_phone_takes_over_also_where_both_ids_have_begun(world: &World) {
    let (first, second) = both_begin(world).await;
    world.gateway.knows_as_one(PHONE, HIDDEN);
    assert_eq!(first.phone_writes("P1", "This is Ana.").await, "accepted");
    world.drain().await;
    second.writes("M3", "Are you there?").await;
    world.after(60_000).await;
    let (stays, goes) = (first.conversation().await, second.conversation().await);
    assert_eq!((&goes["id"], &goes["mode"]), (&stays["id"], &json!("HUMAN")));
    assert_eq!(world.gateway.posts().len(), 2, "the assistant is silent");
}

async fn whom_a_person_has_written_to_is_known_under_the_other_id(world: &World) {
    let (phone, hidden) = (world.chat(PHONE), world.chat(HIDDEN));
    world.gateway.knows_as_one(PHONE, HIDDEN);
    phone.agent_says("Hello Mei, this is Ana.").await;
    world.drain().await;
    hidden.writes("M1", "Hello Ana").await;
    world.after(60_000).await;
    assert_eq!(hidden.conversation().await["id"], phone.conversation().await["id"]);
    assert_eq!(world.gateway.posts().len(), 1, "the assistant is silent");
}

async fn whom_a_person_takes_over_by_a_button_is_taken_over_under_both_ids(world: &World) {
    let (first, second) = both_begin(world).await;
    world.gateway.knows_as_one(PHONE, HIDDEN);
    // No webhook has shown it, and the assistant answers both.
    first.take_over().await;
    world.drain().await;
    second.writes("M3", "Are you there?").await;
    world.after(60_000).await;
    let (stays, goes) = (first.conversation().await, second.conversation().await);
    assert_eq!((&goes["id"], &goes["mode"]), (&stays["id"], &json!("HUMAN")));
    assert_eq!(stays["mode_reason"], "agent_button");
    assert_eq!(world.gateway.posts().len(), 2, "the assistant is silent");
}

async fn what_we_sent_is_no_takeover_where_it_is_reported_under_the_other_id(world: &World) {
    // Who is asked for the other id says that too much was asked.
    world.gateway.keeps_other_ids(true);
    for (number, [to, shown]) in
        [[PHONE, HIDDEN], ["200000000000002@lid", "6580000002@c.us"]].into_iter().enumerate()
    {
        let (sent, reported) = (world.chat(to), world.chat(shown));
        world.assistant_says("Hello!");
        sent.writes(&format!("M{number}"), "Hi").await;
        world.after(3_000).await;
        let id = world.gateway.posts().last().and_then(|post| post.id.clone()).expect("it went");
        assert_eq!(reported.echoes(&id, "Hello!").await, "accepted");
        assert_eq!(reported.reports(&id, "read").await, "accepted");
        world.after(60_000).await;
        let (one, other) = (sent.conversation().await, reported.conversation().await);
        assert_eq!((&one["id"], &one["mode"]), (&other["id"], &json!("AI")), "{shown}");
        assert_eq!(sent.messages().await.len(), 2, "{shown}");
        assert_eq!(sent.messages().await[1]["delivery"]["state"], "read", "{shown}");
        world.assistant_says("I am.");
        sent.writes(&format!("N{number}"), "Are you there?").await;
        world.after(3_000).await;
        assert_eq!(world.gateway.posts().last().expect("a post").text, "I am.", "{shown}");
    }
}

async fn what_we_sent_is_no_takeover_where_both_ids_have_begun(world: &World) {
    world.gateway.keeps_other_ids(true);
    let (first, second) = both_begin(world).await;
    let id = world.gateway.posts()[0].id.clone().expect("it went");
    assert_eq!(second.reports(&id, "read").await, "accepted");
    assert_eq!(second.echoes(&id, "Hello!").await, "accepted");
    world.after(60_000).await;
    let (stays, goes) = (first.conversation().await, second.conversation().await);
    assert_eq!((&goes["id"], &goes["mode"]), (&stays["id"], &json!("AI")));
    let sent = first.messages().await;
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert_eq!(sent[1]["delivery"]["state"], "read");
}

async fn what_we_sent_to_one_number_makes_nobody_of_another(world: &World) {
    let (mei, other) = (world.chat(PHONE), world.chat("6580000002@c.us"));
    world.assistant_says("Hello!");
    mei.writes("M1", "Hi").await;
    shows_both(&mei, HIDDEN, "M2", "It is me").await;
    world.assistant_says("Hello you!");
    other.writes("M3", "Hi").await;
    world.after(3_000).await;
    let posts = world.gateway.posts();
    let to_other = posts.iter().find(|post| post.text == "Hello you!").and_then(|post| post.id.clone());
    let id = to_other.expect("it was answered");
    assert_eq!(world.chat(HIDDEN).echoes(&id, "Hello you!").await, "accepted");
    world.after(60_000).await;
    assert_ne!(mei.conversation().await["id"], other.conversation().await["id"]);
    assert_eq!(mei.conversation().await["mode"], "HUMAN", "somebody else wrote to them");
}
