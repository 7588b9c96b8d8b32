//! Nothing vanishes: what fails is tried again, or put in front of a person.

use baton::flow::generator::{FailureKind, Line};
use serde_json::{Value, json};

use crate::world::{Answer, Chat, Step, World, green_api, on_both_stores};

on_both_stores!(
    a_model_that_fails_for_good_leaves_a_dead_letter_that_can_be_replayed,
    a_letter_is_answered_by_force_although_a_person_has_the_conversation,
    a_letter_of_last_night_is_answered_when_somebody_says_so,
    a_model_that_fails_once_is_asked_again,
    a_refused_send_is_a_dead_letter_that_a_person_can_replay,
    a_crash_during_a_generation_costs_nothing_but_time,
    a_message_that_lies_too_long_goes_to_a_person,
    while_the_model_is_away_a_question_gets_the_answer_it_had_unless_that_was_about_somebody,
    an_answer_of_a_prompt_that_tells_the_day_is_not_given_again_on_the_next,
    a_contact_who_once_pasted_a_book_is_answered_by_a_model_that_cannot_read_it,
    what_answers_a_question_of_ours_gets_no_earlier_answer,
    a_model_that_never_comes_to_an_end_is_not_let_out,
    what_a_store_cannot_keep_is_left_out_of_what_the_model_writes,
);

const MEI: &str = "6580000001@c.us";
const MINUTE_MS: i64 = 60_000;

pub(crate) async fn only_letter(world: &World) -> Value {
    let page = world.get("/api/v1/dead-letters").await;
    let letters = page["items"].as_array().expect("a list");
    assert_eq!(letters.len(), 1, "{page}");
    letters[0].clone()
}

async fn replay(world: &World, letter: &Value, body: Option<Value>) -> u16 {
    let path = format!("/api/v1/dead-letters/{}/retry", letter["id"].as_str().expect("an id"));
    world.ask("POST", &path, body).await.status
}

async fn a_model_that_fails_for_good_leaves_a_dead_letter_that_can_be_replayed(world: &World) {
    world.rules(|policy| policy.fallback_text = Some("A moment, please.".to_owned()));
    let mei = world.chat(MEI);
    for _ in 0..3 {
        world.assistant.add(Step::fails(FailureKind::Server));
    }
    mei.writes("M1", "Show me condos").await;
    for _ in 0..3 {
        world.after(MINUTE_MS).await;
    }
    mei.reads(
        "
        contact: Show me condos [handed_over, ai_failure]
        system: A moment, please. [sent]
        * turn_failed: retried
        * turn_failed: retried
        * turn_failed: handed_over
        = AI 1, rollout
        = a person is called: ai_failure
        = the phone shows: A moment, please.
        ",
    )
    .await;

    let letter = only_letter(world).await;
    assert_eq!((&letter["kind"], &letter["attempts"]), (&json!("turn"), &json!(3)));
    world.assistant_says("Two condos.");
    assert_eq!(replay(world, &letter, None).await, 202);
    world.after(MINUTE_MS).await;
    mei.reads(
        "
        contact: Show me condos [answered]
        system: A moment, please. [sent]
        assistant: Two condos. [sent]
        * turn_failed: retried
        * turn_failed: retried
        * turn_failed: handed_over
        = AI 1, rollout
        = the phone shows: A moment, please. | Two condos.
        ",
    )
    .await;
    assert_eq!(replay(world, &letter, None).await, 409, "it was replayed");
}

/// The model fails for good at what Mei asks.
async fn given_up(world: &World, chat: &Chat<'_>) -> Value {
    for _ in 0..3 {
        world.assistant.add(Step::fails(FailureKind::Server));
    }
    chat.writes("M1", "Show me condos").await;
    for _ in 0..3 {
        world.after(MINUTE_MS).await;
    }
    only_letter(world).await
}

async fn a_letter_is_answered_by_force_although_a_person_has_the_conversation(world: &World) {
    let mei = world.chat(MEI);
    let letter = given_up(world, &mei).await;
    mei.take_over().await;
    mei.writes("M2", "Are you there?").await;
    assert_eq!(replay(world, &letter, None).await, 409, "a person has taken over");
    assert_eq!(mei.conversation().await["mode"], "HUMAN");

    world.assistant_says("Yes: two condos.");
    assert_eq!(replay(world, &letter, Some(json!({ "force": true }))).await, 202);
    let given_back = mei.conversation().await;
    assert_eq!((&given_back["mode"], &given_back["mode_actor"]), (&json!("AI"), &json!("environment")));
    world.after(2_000).await;
    mei.reads(
        "
        contact: Show me condos [answered]
        contact: Are you there? [answered]
        assistant: Yes: two condos. [sent]
        * turn_failed: retried
        * turn_failed: retried
        * turn_failed: handed_over
        * mode_changed
        * agent_took_over
        * mode_changed
        = AI 3, released
        = the phone shows: Yes: two condos.
        ",
    )
    .await;
}

async fn a_letter_of_last_night_is_answered_when_somebody_says_so(world: &World) {
    let mei = world.chat(MEI);
    let letter = given_up(world, &mei).await;
    world.after(8 * 60 * MINUTE_MS).await;
    world.assistant_says("Two condos.");
    assert_eq!(replay(world, &letter, None).await, 202);
    world.after(2_000).await;
    assert_eq!(mei.message("Show me condos").await["outcome"], "answered");
    assert_eq!(world.gateway.shown_to(MEI).len(), 1);
}

async fn a_model_that_fails_once_is_asked_again(world: &World) {
    let mei = world.chat(MEI);
    world.assistant.add(Step::rate_limited(30_000));
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    world.after(29_000).await;
    assert_eq!(world.assistant.requests().len(), 1, "it said when to come again");
    world.after(MINUTE_MS).await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        * turn_failed: retried
        = AI 1, rollout
        = the phone shows: Two condos.
        ",
    )
    .await;
}

async fn a_refused_send_is_a_dead_letter_that_a_person_can_replay(world: &World) {
    let mei = world.chat(MEI);
    world.gateway.answers(Answer::Refused);
    mei.agent_says("Hi Mei.").await;
    world.after(MINUTE_MS).await;
    mei.reads(
        "
        agent: Hi Mei. [failed, no_account]
        * message_failed: dead_lettered
        = HUMAN 1, agent_message
        = a person is called: send_failed
        = the phone shows nothing
        ",
    )
    .await;
    let letter = only_letter(world).await;
    assert_eq!((&letter["kind"], &letter["payload"]["text"]), (&json!("send"), &json!("Hi Mei.")));
    assert_eq!(replay(world, &letter, None).await, 202);
    world.after(MINUTE_MS).await;
    assert_eq!(world.gateway.shown_to(MEI).len(), 1);
    assert_eq!(mei.message("Hi Mei.").await["delivery"]["state"], "sent");
}

async fn a_crash_during_a_generation_costs_nothing_but_time(world: &World) {
    let mei = world.chat(MEI);
    let lost = world.assistant_holds("From the dead.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&lost).await;
    world.crash().await;
    world.assistant_says("Two condos.");
    world.after(30_000).await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        * lease_taken_over
        = AI 1, rollout
        = the phone shows: Two condos.
        ",
    )
    .await;
    let turns = world.get(&mei.path("turns").await).await;
    assert_eq!(turns["items"][0]["attempts"], 1, "no attempt was counted against the model");
}

async fn a_message_that_lies_too_long_goes_to_a_person(world: &World) {
    const TOO_LONG_MS: i64 = 7 * 60 * MINUTE_MS;
    let (mei, ana) = (world.chat(MEI), world.chat("6580000002@c.us"));
    mei.writes("M1", "Show me condos").await;
    world.after(TOO_LONG_MS).await;
    // The gateway keeps for a day what it could not deliver.
    let written_at = world.now().plus_ms(-TOO_LONG_MS).0 / 1_000;
    world.webhook(&green_api::incoming(ana.id, "M2", written_at, "Show me condos")).await;
    world.after(MINUTE_MS).await;
    for chat in [mei, ana] {
        chat.reads(
            "
            contact: Show me condos [handed_over, stale]
            = AI 1, rollout
            = a person is called: stale
            = the phone shows nothing
            ",
        )
        .await;
    }
}

/// So many others ask and the model fails them, until its breaker opens.
async fn the_model_goes_away(world: &World) {
    const OTHERS: [&str; 5] =
        ["6580000091@c.us", "6580000092@c.us", "6580000093@c.us", "6580000094@c.us", "6580000095@c.us"];
    for other in OTHERS {
        world.assistant.add(Step::fails(FailureKind::Server));
        world.chat(other).writes("M1", "Hello?").await;
    }
    world.after(3_000).await;
}

async fn while_the_model_is_away_a_question_gets_the_answer_it_had_unless_that_was_about_somebody(
    world: &World,
) {
    world.rules(|policy| {
        policy.cached_answers = true;
        policy.ai_attempts = 1;
    });
    let (ana, mei, joy) = (world.chat("6580000002@c.us"), world.chat(MEI), world.chat("6580000003@c.us"));
    world.assistant_says("From nine to five.");
    ana.writes("A1", "When are you open?").await;
    world.after(3_000).await;
    world.assistant_says("It leaves on Monday, Ana.");
    ana.writes("A2", "Where is my parcel?").await;
    world.after(3_000).await;

    the_model_goes_away(world).await;
    mei.writes("M1", " When are  you open?").await;
    joy.writes("J1", "Where is my parcel?").await;
    world.after(3_000).await;
    mei.reads(
        "
        contact:  When are  you open? [answered]
        assistant: From nine to five. [sent]
        = AI 1, rollout
        = the phone shows: From nine to five.
        ",
    )
    .await;
    assert_eq!(mei.happened("cached_answer_used").await, 1);
    joy.reads(
        "
        contact: Where is my parcel? [pending]
        * turn_failed: retried
        = AI 1, rollout
        = the phone shows nothing
        ",
    )
    .await;

    // An agent has something to add to it, so it is not the answer any more.
    ana.agent_says("On Fridays until four, sorry.").await;
    world.after(3_000).await;
    let pia = world.chat("6580000004@c.us");
    pia.writes("P1", "When are you open?").await;
    world.after(3_000).await;
    assert_eq!(pia.messages().await.pop().expect("hers")["outcome"], "pending");
    // Nobody waits for ever for a model that is not asked.
    for _ in 0..12 {
        world.after(60_000).await;
    }
    for chat in [&joy, &pia] {
        assert_eq!(chat.conversation().await["attention"]["reason"], "ai_failure", "{}", chat.id);
    }
}

async fn a_contact_who_once_pasted_a_book_is_answered_by_a_model_that_cannot_read_it(world: &World) {
    let mei = world.chat(MEI);
    for (id, text) in [("M1", "It is a long story: ".repeat(900)), ("M2", "So?".into()), ("M3", "Hm".into())]
    {
        world.assistant_says("I see.");
        mei.writes(id, &text).await;
        world.after(3_000).await;
    }
    world.assistant.add(Step::fails(FailureKind::TooLong));
    world.assistant_says("Until six.");
    mei.writes("M4", "Are you open?").await;
    world.after(3_000).await;
    let mut requests = world.assistant.requests();
    let (asked, refused) = (requests.pop().expect("it was asked"), requests.pop().expect("and before"));
    assert_eq!((refused.about.turn, refused.asked_before), (asked.about.turn, 0));
    assert_eq!(asked.asked_before, 1, "services tell one request of a turn from another by it");
    assert!(asked.lines.iter().all(|line| !matches!(line, Line::Contact(text) if text.len() > 100)));
    assert_eq!(asked.lines.last(), Some(&Line::Contact("Are you open?".into())));
    assert_eq!(world.gateway.shown_to(MEI).pop().map(|post| post.text), Some("Until six.".into()));
    assert_eq!(mei.happened("turn_failed").await, 0);

    // What is asked now is never left out.
    world.assistant.add(Step::fails(FailureKind::TooLong).always());
    mei.writes("M5", "And on Sundays?").await;
    world.after(3_000).await;
    assert_eq!(mei.conversation().await["attention"]["reason"], "ai_failure");
}

async fn an_answer_of_a_prompt_that_tells_the_day_is_not_given_again_on_the_next(world: &World) {
    world.rules(|policy| {
        (policy.cached_answers, policy.ai_attempts) = (true, 1);
        policy.prompt = "Today is {today}, at best {now}.".into();
    });
    let (ana, mei, joy) = (world.chat("6580000002@c.us"), world.chat(MEI), world.chat("6580000003@c.us"));
    world.assistant_says("Until six.");
    ana.writes("A1", "Are you open today?").await;
    world.after(3_000).await;
    world.after(15 * 60 * MINUTE_MS).await;
    the_model_goes_away(world).await;
    mei.writes("M1", "Are you open today?").await;
    world.after(3_000).await;
    assert_eq!(mei.happened("cached_answer_used").await, 1, "an hour before midnight");
    world.after(120 * MINUTE_MS).await;
    joy.writes("J1", "Are you open today?").await;
    world.after(3_000).await;
    assert_eq!(joy.happened("cached_answer_used").await, 0, "tomorrow is another day");
}

async fn what_answers_a_question_of_ours_gets_no_earlier_answer(world: &World) {
    world.rules(|policy| {
        policy.cached_answers = true;
        policy.ai_attempts = 1;
    });
    let mei = world.chat(MEI);
    for (id, says, answer) in [
        ("M1", "Have you a blue bowl?", "One. Shall I keep it for you?"),
        ("M2", "Yes", "Kept for you, come at six."),
        ("M3", "I cannot come", "A pity. Shall I give it to somebody else?"),
    ] {
        world.assistant_says(answer);
        mei.writes(id, says).await;
        world.after(3_000).await;
    }
    the_model_goes_away(world).await;
    mei.writes("M4", "Yes").await;
    world.after(3_000).await;
    assert_eq!(mei.happened("cached_answer_used").await, 0);
    assert_eq!(mei.messages().await.pop().expect("hers")["outcome"], "pending");
}

async fn a_model_that_never_comes_to_an_end_is_not_let_out(world: &World) {
    let mei = world.chat(MEI);
    for _ in 0..3 {
        world.assistant_says(&"again and ".repeat(2_001));
    }
    mei.writes("M1", "Show me condos").await;
    for _ in 0..3 {
        world.after(MINUTE_MS).await;
    }
    assert!(world.gateway.posts().is_empty());
    assert_eq!(mei.conversation().await["attention"]["reason"], "ai_failure");
    world.assistant_says(&"bowl-and-".repeat(2_222));
    mei.writes("M2", "All of it, please").await;
    world.after(MINUTE_MS).await;
    let read: usize = world.gateway.shown_to(MEI).iter().map(|post| post.text.len()).sum();
    assert_eq!(read, 19_998, "all of what is only long");
}

/// PostgreSQL keeps no zero characters.
async fn what_a_store_cannot_keep_is_left_out_of_what_the_model_writes(world: &World) {
    let mei = world.chat(MEI);
    let call = json!({ "delay_hours": 24, "text": "Still\0 looking?" });
    world.assistant.add(Step::says("Two\0 condos.").and_calls("schedule_follow_up", &call));
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    assert_eq!(mei.conversation().await["follow_up"]["text"], "Still looking?");
    world.assistant.add(Step::says("").and_calls("hand_over", &json!({ "reason": "a\0 complaint" })));
    mei.writes("M2", "This is a scandal").await;
    world.after(3_000).await;
    assert_eq!(mei.conversation().await["mode"], "HUMAN");
    assert_eq!(world.gateway.shown_to(MEI)[0].text, "Two condos.");
}
