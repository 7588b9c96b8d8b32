//! Tools of the business's own: it is asked while the assistant writes, and told what to do as the words leave that speak
//! of it; never for a reply that does not.

use baton::{
    domain::tool::{LookUp, Tool},
    flow::generator::{FailureKind, Line, Offer},
};
use serde_json::{Value, json};

use crate::world::{Step, World, green_api, on_both_stores};

on_both_stores!(
    the_business_is_asked_and_the_assistant_goes_on_with_what_it_says,
    a_business_that_does_not_answer_is_told_to_the_assistant_alone,
    two_tools_in_one_answer_are_answered_in_order,
    a_takeover_during_a_question_hangs_up_and_nothing_leaves,
    a_hand_over_after_the_last_question_is_one,
    a_newer_message_during_a_question_starts_again,
    nobody_is_asked_for_a_turn_that_was_stopped,
    the_business_is_told_what_to_do_as_the_reply_leaves,
    a_reply_that_is_superseded_has_nothing_done,
    an_attempt_that_fails_has_nothing_done,
    an_assistant_that_only_calls_is_told_to_answer,
    an_assistant_that_falls_silent_over_a_result_is_asked_for_words,
    what_failed_attempts_cost_is_kept_with_their_turns,
    a_person_takes_over_once_the_assistant_knows_what_was_not_done,
    an_answer_with_tools_is_not_given_again,
    what_a_tool_was_told_is_erased_with_the_person,
    the_assistant_remembers_what_it_had_done_and_for_which_words,
    the_business_knows_the_number_of_a_contact_whose_chat_hides_it,
);

const MEI: &str = "6580000001@c.us";

fn tools(world: &World) {
    let parameters = |name: &str| {
        let schema =
            json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
        serde_json::from_value(schema).expect("an object")
    };
    let look_up = Some(LookUp { url: "http://127.0.0.1:1/".into(), timeout_ms: 1_000 });
    let tools = [
        Tool {
            name: "order_status".into(),
            description: "Where an order is.".into(),
            parameters: parameters("order"),
            look_up,
        },
        Tool {
            name: "book".into(),
            description: "Books a table.".into(),
            parameters: parameters("day"),
            look_up: None,
        },
    ];
    world.rules(|policy| policy.tools = tools.into());
}

fn asks(order: &str) -> Step {
    Step::calls("order_status", &json!({ "order": order }))
}

fn shown(world: &World) -> Vec<String> {
    world.gateway.shown_to(MEI).into_iter().map(|post| post.text).collect()
}

/// What the assistant was told its calls gave, by the last request.
fn results(world: &World) -> Vec<String> {
    let requests = world.assistant.requests();
    let lines = &requests.last().expect("it was asked").lines;
    lines
        .iter()
        .filter_map(|line| if let Line::Result { text, .. } = line { Some(text.clone()) } else { None })
        .collect()
}

async fn events(world: &World, kind: &str) -> Vec<Value> {
    let page = world.get(&world.chat(MEI).path(&format!("timeline?type={kind}")).await).await;
    page["items"].as_array().expect("a list").clone()
}

async fn the_business_is_asked_and_the_assistant_goes_on_with_what_it_says(world: &World) {
    tools(world);
    let mei = world.chat(MEI);
    world.business.answers(r#"{"status":"on its way"}"#);
    world
        .assistant
        .add(Step::says("One moment.").and_calls("order_status", &json!({ "order": "7" })).and_counts(10, 2));
    world.assistant.add(Step::says("It is on its way.").and_counts(20, 3));
    mei.writes("M1", "Where is my order 7?").await;
    world.after(3_000).await;
    assert_eq!(shown(world), ["It is on its way."], "what was written beside the question is not sent");
    assert_eq!(world.business.asked(), [("order_status".to_owned(), json!({ "order": "7" }), 1)]);
    assert_eq!(results(world), [r#"{"status":"on its way"}"#]);
    let completed = events(world, "turn_completed").await.swap_remove(0);
    let details = json!({ "input_tokens": 30, "output_tokens": 5, "looked_up": ["order_status"] });
    assert_eq!(completed["details"], details);
    assert_eq!(mei.happened("tool_called").await, 0, "nothing was to be done");
}

async fn a_business_that_does_not_answer_is_told_to_the_assistant_alone(world: &World) {
    tools(world);
    world.business.fails("not done in 1000 ms");
    world.assistant.add(asks("7"));
    world.assistant_says("I cannot see that just now.");
    world.chat(MEI).writes("M1", "Where is my order 7?").await;
    world.after(3_000).await;
    assert_eq!(results(world), ["There is no answer: not done in 1000 ms."]);
    assert_eq!(shown(world), ["I cannot see that just now."]);
    assert_eq!(world.chat(MEI).conversation().await["attention"], Value::Null);
}

async fn two_tools_in_one_answer_are_answered_in_order(world: &World) {
    tools(world);
    world.business.answers("seven");
    world.business.answers("eight");
    let both = asks("7")
        .and_calls("book", &json!({ "day": "Friday" }))
        .and_calls("order_status", &json!({ "order": "8" }))
        .and_calls("order_status", &json!({ "number": 9 }));
    world.assistant.add(both);
    world.assistant_says("Both are here, and Friday it is.");
    world.chat(MEI).writes("M1", "Orders 7 and 8? And a table on Friday.").await;
    world.after(3_000).await;
    let told = results(world);
    assert_eq!((told[0].as_str(), told[2].as_str()), ("seven", "eight"));
    assert!(told[1].starts_with("accepted"), "{told:?}");
    assert_eq!(told[3], "not done: the arguments lack \"order\"");
    let numbers: Vec<usize> = world.business.asked().into_iter().map(|(_, _, number)| number).collect();
    assert_eq!(numbers, [1, 2], "each has a number of its own");
    let done = events(world, "tool_called").await;
    assert_eq!(done.len(), 1, "{done:?}");
}

async fn a_takeover_during_a_question_hangs_up_and_nothing_leaves(world: &World) {
    tools(world);
    let mei = world.chat(MEI);
    let hold = world.business.holds();
    world.assistant.add(asks("7").and_calls("book", &json!({ "day": "Friday" })).and_counts(10, 2));
    mei.writes("M1", "Where is my order 7? And a table on Friday.").await;
    world.pass(3_000);
    world.drain_until(&hold).await;

    let receipt = mei.take_over().await;
    assert_eq!((&receipt["generation_cancelled"], &receipt["settled"]), (&json!(true), &json!(true)));
    world.drain().await;
    assert_eq!(world.business.hang_ups(), 1, "the business was hung up on");
    world.after(10_000).await;
    assert_eq!((shown(world), mei.happened("tool_called").await), (Vec::<String>::new(), 0));
    assert_eq!(
        (world.assistant.requests().len(), world.business.asked().len()),
        (1, 1),
        "nobody is asked any more"
    );
    let turns = world.get(&mei.path("turns").await).await;
    let turn = &turns["items"][0];
    assert_eq!((&turn["input_tokens"], &turn["wasted"]), (&json!(10), &json!(true)), "what it cost is known");
}

/// The world's model may look up four times.
async fn a_hand_over_after_the_last_question_is_one(world: &World) {
    tools(world);
    let mei = world.chat(MEI);
    for number in ["1", "2", "3", "4"] {
        world.business.answers(number);
        world.assistant.add(asks(number));
    }
    world.assistant.add(Step::calls("hand_over", &json!({ "reason": "asked" })));
    mei.writes("M1", "Where is my order?").await;
    world.after(3_000).await;
    let conversation = mei.conversation().await;
    assert_eq!(
        (&conversation["mode"], &conversation["mode_reason"]),
        (&json!("HUMAN"), &json!("assistant_asked"))
    );
}

async fn a_newer_message_during_a_question_starts_again(world: &World) {
    tools(world);
    let mei = world.chat(MEI);
    let hold = world.business.holds();
    world.assistant.add(asks("7"));
    mei.writes("M1", "Where is my order 7?").await;
    world.pass(3_000);
    world.drain_until(&hold).await;
    mei.writes("M2", "I mean 8").await;
    world.drain().await;
    assert_eq!(world.business.hang_ups(), 1);
    hold.release();
    world.business.answers("eight");
    world.assistant.add(asks("8"));
    world.assistant_says("8 is here.");
    world.after(3_000).await;
    assert_eq!(shown(world), ["8 is here."]);
}

/// The lease is over, and nobody has told this instance yet.
async fn nobody_is_asked_for_a_turn_that_was_stopped(world: &World) {
    tools(world);
    world.rules(|policy| policy.lock_ttl_ms = 0);
    world.assistant.add(asks("7"));
    world.chat(MEI).writes("M1", "Where is my order 7?").await;
    let turn = world.assistant_holds("It is here.");
    world.pass(3_000);
    world.drain_until(&turn).await;
    assert_eq!(world.business.asked(), []);
    turn.release();
    world.drain().await;
}

async fn the_business_is_told_what_to_do_as_the_reply_leaves(world: &World) {
    tools(world);
    world.rules(|policy| policy.typing_ms_per_char = 100);
    let mei = world.chat(MEI);
    world.assistant.add(Step::calls("book", &json!({ "day": "Friday" })));
    world.assistant_says("Your table is booked.");
    mei.writes("M1", "A table on Friday, please").await;
    world.after(3_000).await;
    assert_eq!((shown(world).len(), mei.happened("tool_called").await), (0, 0), "it is still being typed");
    world.after(10_000).await;
    assert_eq!(shown(world), ["Your table is booked."]);
    let told = events(world, "tool_called").await;
    let turn = world.get(&mei.path("turns").await).await["items"][0]["id"].clone();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["details"], json!({ "tool": "book", "arguments": { "day": "Friday" } }));
    assert_eq!((&told[0]["turn_id"], &told[0]["actor"]), (&turn, &json!("assistant")));
}

async fn a_reply_that_is_superseded_has_nothing_done(world: &World) {
    tools(world);
    world.rules(|policy| policy.typing_ms_per_char = 100);
    let mei = world.chat(MEI);
    world.assistant.add(Step::says("Friday is booked.").and_calls("book", &json!({ "day": "Friday" })));
    mei.writes("M1", "A table on Friday, please").await;
    world.after(3_000).await;
    world.assistant.add(Step::says("Saturday is booked.").and_calls("book", &json!({ "day": "Saturday" })));
    mei.writes("M2", "No, on Saturday").await;
    world.after(10_000).await;
    world.after(10_000).await;
    assert_eq!(shown(world), ["Saturday is booked."]);
    let told = events(world, "tool_called").await;
    let days: Vec<&Value> = told.iter().map(|event| &event["details"]["arguments"]["day"]).collect();
    assert_eq!(days, ["Saturday"]);
}

async fn an_attempt_that_fails_has_nothing_done(world: &World) {
    tools(world);
    let mei = world.chat(MEI);
    world.assistant.add(Step::calls("book", &json!({ "day": "Friday" })));
    world.assistant.add(Step::fails(FailureKind::Cut));
    mei.writes("M1", "A table on Friday, please").await;
    world.after(3_000).await;
    world.assistant_says("Which day?");
    world.after(10_000).await;
    assert_eq!((shown(world), mei.happened("tool_called").await), (vec!["Which day?".to_owned()], 0));
}

async fn an_assistant_that_only_calls_is_told_to_answer(world: &World) {
    tools(world);
    for round in 1..=4 {
        world.business.answers(&format!("answer {round}"));
        world.assistant.add(asks("7"));
    }
    // What was not to be called any more is not done, whatever a model makes up.
    world.assistant.add(Step::says("It is here.").and_calls("book", &json!({ "day": "Friday" })));
    world.chat(MEI).writes("M1", "Where is my order 7?").await;
    world.after(3_000).await;
    assert_eq!(shown(world), ["It is here."]);
    let requests = world.assistant.requests();
    let open: Vec<bool> = requests.iter().map(|request| request.tools.is_open()).collect();
    assert_eq!(open, [true, true, true, true, false]);
    assert!(matches!(&requests[4].tools, Offer::Over(tools) if tools.len() == 2));
    let last = requests[4].lines.last();
    assert!(
        matches!(last, Some(Line::Instruction(text)) if text.starts_with("No tool can be called")),
        "{last:?}"
    );
    assert_eq!(world.chat(MEI).happened("tool_called").await, 0);
}

async fn an_assistant_that_falls_silent_over_a_result_is_asked_for_words(world: &World) {
    tools(world);
    world.business.answers("on its way");
    world.assistant.add(asks("7").and_counts(10, 2));
    world.assistant.add(Step::fails(FailureKind::Empty).and_counts(20, 1));
    world.assistant.add(Step::says("It is on its way.").and_counts(30, 5));
    let mei = world.chat(MEI);
    mei.writes("M1", "Where is my order 7?").await;
    world.after(3_000).await;
    assert_eq!((shown(world), world.business.asked().len()), (vec!["It is on its way.".to_owned()], 1));
    assert_eq!(mei.happened("turn_failed").await, 0);
    let completed = events(world, "turn_completed").await.swap_remove(0);
    assert_eq!(
        (&completed["details"]["input_tokens"], &completed["details"]["output_tokens"]),
        (&json!(60), &json!(8))
    );
    let last = world.assistant.requests().pop().expect("it was asked");
    assert!(!last.tools.is_open() && matches!(last.lines.last(), Some(Line::Instruction(_))), "{last:?}");

    // Once is enough, and where nothing was called it is a failure as ever.
    world.business.answers("here");
    world.assistant.add(asks("8"));
    for _ in 0..3 {
        world.assistant.add(Step::fails(FailureKind::Empty));
    }
    mei.writes("M2", "And 8?").await;
    world.after(3_000).await;
    assert_eq!((mei.happened("turn_failed").await, world.assistant.steps_left()), (1, 1));
    world.after(60_000).await;
    assert_eq!((mei.happened("turn_failed").await, world.assistant.steps_left()), (2, 0));
}

async fn what_failed_attempts_cost_is_kept_with_their_turns(world: &World) {
    tools(world);
    world.assistant.add(Step::calls("book", &json!({})).and_counts(10, 2));
    world.assistant.add(Step::fails(FailureKind::Filtered).and_counts(20, 3));
    world.assistant.add(Step::fails(FailureKind::Malformed).and_counts(40, 4));
    world.assistant.add(Step::says("It is here.").and_counts(5, 1));
    let mei = world.chat(MEI);
    mei.writes("M1", "Where is my order 7?").await;
    for _ in 0..3 {
        world.after(60_000).await;
    }
    assert_eq!(shown(world), ["It is here."]);
    let turns = world.get(&mei.path("turns").await).await;
    let mut cost: Vec<_> = turns["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|turn| (turn["input_tokens"].as_i64(), turn["output_tokens"].as_i64(), turn["wasted"].as_bool()))
        .collect();
    cost.sort_unstable();
    let expected = [(5, 1, false), (30, 5, true), (40, 4, true)];
    assert_eq!(cost, expected.map(|(read, wrote, wasted)| (Some(read), Some(wrote), Some(wasted))));
    let total = &world.get(&mei.path("turns?limit=1").await).await["total"];
    assert_eq!((&total["input_tokens"], &total["output_tokens"]), (&json!(75), &json!(10)), "of all of them");
}

async fn a_person_takes_over_once_the_assistant_knows_what_was_not_done(world: &World) {
    tools(world);
    let hand_over = json!({ "reason": "wants a person" });
    let promise = Step::says("I have booked your table, a colleague comes.");
    world.assistant.add(promise.and_calls("book", &json!({})).and_calls("hand_over", &hand_over));
    world.assistant.add(Step::says("A colleague books it for you.").and_calls("hand_over", &hand_over));
    let mei = world.chat(MEI);
    mei.writes("M1", "A table, please, and a person").await;
    world.after(3_000).await;
    assert_eq!(shown(world), ["A colleague books it for you."]);
    assert_eq!(mei.conversation().await["mode"], "HUMAN");
    assert_eq!(mei.happened("tool_called").await, 0);
}

async fn an_answer_with_tools_is_not_given_again(world: &World) {
    tools(world);
    world.rules(|policy| (policy.cached_answers, policy.ai_attempts) = (true, 1));
    world.business.answers("on its way");
    world.assistant.add(asks("7"));
    world.assistant_says("It is on its way.");
    world.chat(MEI).writes("M1", "Where is order 7?").await;
    world.after(3_000).await;
    for chat in 10..15 {
        world.assistant.add(Step::fails(FailureKind::Server));
        world.chat(&format!("65800000{chat}@c.us")).writes("X1", "Hello?").await;
        world.after(3_000).await;
    }
    let tom = world.chat("6580000002@c.us");
    tom.writes("T1", "Where is order 7?").await;
    world.after(3_000).await;
    assert_eq!(tom.happened("cached_answer_used").await, 0);
    assert_eq!(tom.messages().await.pop().expect("his")["outcome"], "pending");
}

async fn what_a_tool_was_told_is_erased_with_the_person(world: &World) {
    tools(world);
    world.rules(|policy| policy.typing_ms_per_char = 100);
    let mei = world.chat(MEI);
    for (id, day) in [("M1", "Fridaaay"), ("M2", "Saturdaaay")] {
        world.assistant.add(Step::says("It is booked.").and_calls("book", &json!({ "day": day })));
        mei.writes(id, "A table, please").await;
        world.after(3_000).await;
        // The first is told, the second waits with its reply.
        let kept = if id == "M1" {
            world.after(10_000).await;
            "events.details"
        } else {
            "conversations.memo"
        };
        assert_eq!(world.finds(day).await, [kept]);
    }
    let path = mei.path("").await;
    let path = format!("{}?confirm={MEI}", path.trim_end_matches('/'));
    assert_eq!(world.ask("DELETE", &path, None).await.status, 204);
    for day in ["Fridaaay", "Saturdaaay"] {
        assert_eq!(world.finds(day).await, [""; 0], "{day}");
    }
}

async fn the_business_knows_the_number_of_a_contact_whose_chat_hides_it(world: &World) {
    tools(world);
    let hidden = world.chat("100000000000001@lid");
    world.assistant_says("Hello!");
    hidden.writes("M1", "Hi").await;
    world.after(3_000).await;
    assert_eq!(world.assistant.requests().pop().expect("it was asked").about.phone, None);
    let mut body = green_api::incoming(hidden.id, "M2", world.now().0 / 1_000, "Where is my order?");
    body["senderData"]["sender"] = json!(MEI);
    world.assistant_says("On its way.");
    assert_eq!(world.webhook(&body).await, "accepted");
    world.after(3_000).await;
    let about = world.assistant.requests().pop().expect("it was asked").about;
    assert_eq!((about.chat.as_str(), about.phone.as_deref()), (hidden.id, Some("+6580000001")));
}

async fn the_assistant_remembers_what_it_had_done_and_for_which_words(world: &World) {
    tools(world);
    let mei = world.chat(MEI);
    let book = |day: &str| json!({ "day": day });
    world.assistant.add(Step::says("Friday is booked.").and_calls("book", &book("Friday")));
    mei.writes("M1", "A table on Friday, please").await;
    world.after(3_000).await;
    // Without words there is no place for it.
    let silent = json!({ "reason": "nothing to say" });
    world.assistant.add(Step::calls("book", &book("Saturday")).and_calls("stay_silent", &silent));
    mei.writes("M2", "And on Saturday, no need to answer").await;
    world.after(3_000).await;
    world.assistant_says("Both, yes.");
    mei.writes("M3", "Are they booked?").await;
    world.after(3_000).await;
    let lines = world.assistant.requests().pop().expect("it was asked").lines;
    let told: Vec<String> = lines
        .iter()
        .map(|line| match line {
            Line::Contact(text) => format!("contact: {text}"),
            Line::Assistant(text) => format!("assistant: {text}"),
            Line::Calls(_, calls) => format!("{}: {} {}", calls[0].id, calls[0].name, calls[0].arguments),
            Line::Result { call, text } => format!("{call}: {text}"),
            other => panic!("{other:?}"),
        })
        .collect();
    let wanted = [
        "contact: A table on Friday, please",
        r#"done00000: book {"day":"Friday"}"#,
        "done00000: passed on",
        "assistant: Friday is booked.",
        "contact: And on Saturday, no need to answer",
        "contact: Are they booked?",
    ];
    assert_eq!(told, wanted);
    // A tool that there is no more is not called again either.
    world.rules(|policy| policy.tools = policy.tools[..1].into());
    world.assistant_says("Yes.");
    mei.writes("M4", "Sure?").await;
    world.after(3_000).await;
    let lines = world.assistant.requests().pop().expect("it was asked").lines;
    assert!(!lines.iter().any(|line| matches!(line, Line::Calls(..))), "{lines:?}");
}
