//! What the demo's assistant says: it keeps a small pottery shop, and knows what such a shop is asked every day.
//! In: a request of the flow. Out: an answer, by the words of the contact's latest messages.

use serde_json::json;

use crate::flow::generator::{Line, Request, ToolCall, Written};

/// The first topic with words that the contact wrote wins: those that need a person come first, courtesies last.
const TOPICS: &[(&[&str], Topic)] = &[
    (
        &[
            "human",
            "person",
            "someone",
            "somebody",
            "agent",
            "colleague",
            "manager",
            "complaint",
            "complain",
            "angry",
        ],
        Topic::Person,
    ),
    (&["broken", "damaged", "refund", "return", "returns"], Topic::Says(RETURNS)),
    (&["tomorrow", "remind", "reminder"], Topic::Reminder),
    (&["deliver", "delivery", "ship", "shipping", "courier", "post"], Topic::Says(DELIVERY)),
    (
        &["open", "opening", "hours", "close", "closed", "closing", "today", "sunday", "saturday"],
        Topic::Says(HOURS),
    ),
    (
        &["price", "prices", "cost", "costs", "how much", "expensive", "cheap", "discount"],
        Topic::Says(PRICES),
    ),
    (&["where", "address", "located", "location", "directions", "parking"], Topic::Says(PLACE)),
    (&["pay", "payment", "card", "cash", "invoice"], Topic::Says(PAYMENT)),
    (&["thanks", "thank", "thx", "cheers", "perfect", "great"], Topic::Says(THANKS)),
    (&["hello", "hi", "hey", "morning", "afternoon", "evening"], Topic::Says(GREETING)),
];

enum Topic {
    Says(&'static str),
    Person,
    Reminder,
}

const HOURS: &str = "We are open from Monday to Saturday, nine to six. On Sundays the shop is closed, but you can \
    write to us at any time.";

/// Three paragraphs, each long enough to be a message of its own.
const DELIVERY: &str = "Yes, we deliver. Everything that is on our shelves leaves the shop within two working days, \
    wrapped in paper and wool and packed so well that in eleven years we have lost nine bowls. Inside the city our \
    own driver comes by, usually in the afternoon, and calls you half an hour before. You don't have to be at home: a \
    neighbour or a dry place by the door will do.\n\n\
    The fee depends on the weight and not on the number of pieces. Up to five kilograms it is 6.50, up to twenty \
    kilograms 11.00, and from an order of 90 on it is free. Abroad we send with the post, which takes four to eight \
    working days; the fee is then shown before you pay, with all duties, so that nobody rings your bell and asks you \
    for money.\n\n\
    As soon as your parcel is on its way you get a message here with its number, and you can follow it from then on. \
    Should anything arrive broken, just send us a picture within two weeks: you get a new piece or your money back, \
    as you like, and you needn't send us the shards. Tell me the street and what you have in mind, and I will work out \
    the fee for you.";

const PRICES: &str = "Cups start at 14, bowls at 19 and plates at 22. Our large salad bowls are 48. If you take six \
    pieces or more of one kind, you pay for five.";

const RETURNS: &str = "I'm sorry to hear that. You can return anything within 30 days, and if it arrived broken you \
    needn't send it back at all.\n\n\
    Please send me a picture and the number of your order, and I will see to it.";

const PLACE: &str = "You find us at 12 Harbour Street, right beside the old ferry landing. There is parking behind \
    the house, and tram 4 stops in front of the door.";

const PAYMENT: &str = "In the shop you can pay in cash or by card. For deliveries we send you a link, or an invoice \
    if you order for a company.";

const THANKS: &str = "You're very welcome! If anything else comes to mind, just write to me here.";

const GREETING: &str = "Hello, and welcome to Harbour Pottery! I can tell you about our bowls and cups, prices, \
    opening hours and delivery. What can I do for you?";

const CHECKING_IN: &str =
    "Hello again! I only wanted to ask whether there is anything else that I can help you with.";

/// The answer to the request.
pub(super) fn answer(request: &Request) -> Written {
    match request.lines.last() {
        // What the calls of this turn were to say was said beside them.
        Some(Line::Result { .. }) => says("All right, that is settled."),
        // A note comes before what it is for; last comes only what a silent contact is written to for.
        Some(Line::Instruction(_)) => says(CHECKING_IN),
        _ => reply(&asked(&request.lines), request.tools.is_open()),
    }
}

fn reply(asked: &[&str], has_tools: bool) -> Written {
    let words = bare_words(&asked.join(" "));
    let topic = TOPICS.iter().find(|(keys, _)| keys.iter().any(|key| words.contains(&format!(" {key} "))));
    match topic {
        Some((_, Topic::Says(text))) => says(text),
        Some((_, Topic::Person)) => Written {
            text: "Of course. I'll ask a colleague to take over; someone will be with you in a moment."
                .to_owned(),
            calls: has_tools
                .then(|| call("hand_over", &json!({ "reason": "The contact asks for a person." })))
                .into_iter()
                .collect(),
            ..says("")
        },
        Some((_, Topic::Reminder)) if has_tools => Written {
            calls: vec![call(
                "schedule_follow_up",
                &json!({ "delay_hours": 24, "text": "Good day! You asked me to write to you again today." }),
            )],
            ..says("Gladly. I will write to you again tomorrow.")
        },
        Some((_, Topic::Reminder)) => says("Gladly. Just write to me again tomorrow."),
        None => says(&generic(asked)),
    }
}

/// In lower case, without punctuation, each between two spaces.
fn bare_words(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(" ".to_owned(), |all, word| all + &word.to_lowercase() + " ")
}

/// Names what was asked, so that whoever tries it sees which messages an answer is to.
fn generic(asked: &[&str]) -> String {
    match asked {
        [] => GREETING.to_owned(),
        [one] => format!(
            "Thank you for your message. About “{}”: let me look into that. Is there anything that I should know \
             besides?",
            shortened(one)
        ),
        [first, .., last] => format!(
            "Thank you for your {} messages, from “{}” to “{}”. Let me look into that. Is there anything that I \
             should know besides?",
            asked.len(),
            shortened(first),
            shortened(last)
        ),
    }
}

/// What the contact wrote since our side last spoke.
fn asked(lines: &[Line]) -> Vec<&str> {
    let mut asked: Vec<&str> = lines
        .iter()
        .rev()
        .take_while(|line| !matches!(line, Line::Assistant(_) | Line::Colleague(_)))
        .filter_map(|line| match line {
            Line::Contact(text) => Some(text.trim()),
            _ => None,
        })
        .filter(|text| !text.is_empty())
        .collect();
    asked.reverse();
    asked
}

fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

/// Counts words for tokens, so that the demo's statistics have something to show.
fn says(text: &str) -> Written {
    let output_tokens = i64::try_from(text.split_whitespace().count()).unwrap_or(i64::MAX);
    Written { text: text.to_owned(), output_tokens, ..Written::default() }
}

fn call(name: &str, arguments: &serde_json::Value) -> ToolCall {
    ToolCall {
        id: format!("call_{name}"),
        name: name.to_owned(),
        arguments: arguments.to_string(),
        ..ToolCall::default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::flow::generator::{About, Offer};

    fn request(lines: Vec<Line>) -> Request {
        Request {
            model: "scripted".into(),
            system: Arc::from(""),
            lines,
            tools: Offer::Tools(Arc::default()),
            channel: "sandbox".into(),
            about: About::default(),
            asked_before: 0,
        }
    }

    fn to(text: &str) -> Written {
        answer(&request(vec![Line::Contact(text.into())]))
    }

    #[test]
    fn what_a_shop_is_asked_every_day_has_its_answer() {
        let table = [
            ("Hi!", GREETING),
            ("Hi, are you OPEN on Sunday?", HOURS),
            ("how much is a bowl", PRICES),
            ("What does delivery cost?", DELIVERY),
            ("My bowl arrived broken", RETURNS),
            ("Where are you?", PLACE),
            ("Can I pay by card?", PAYMENT),
            ("And how much, please?", PRICES),
            ("Thank you so much!!", THANKS),
        ];
        for (question, expected) in table {
            assert_eq!(to(question).text, expected, "{question}");
        }
    }

    #[test]
    fn who_asks_for_a_person_gets_one() {
        let written = to("Can I talk to a person?");
        assert!(written.text.contains("colleague"));
        assert_eq!(written.calls[0].name, "hand_over");
        let without_tools =
            Request { tools: Offer::Nothing, ..request(vec![Line::Contact("A human please".into())]) };
        assert!(answer(&without_tools).calls.is_empty());
    }

    #[test]
    fn anything_else_is_named_in_the_answer() {
        let long = format!("Do you have blue bowls {}?", "with a rim ".repeat(20));
        assert!(to(&long).text.contains("“Do you have blue bowls with a rim"));
        assert!(to(&long).text.len() < 220);
        let burst = ["Blue ones", "or green", "but no dots"].map(|text| Line::Contact(text.into())).to_vec();
        let answered = answer(&request(burst)).text;
        assert!(answered.contains("3 messages, from “Blue ones” to “but no dots”"), "{answered}");
    }

    #[test]
    fn only_what_came_since_our_side_spoke_is_answered() {
        let lines = vec![
            Line::Contact("What does delivery cost?".into()),
            Line::Colleague("It is free for you.".into()),
            Line::Contact("Oh, thanks".into()),
        ];
        assert_eq!(answer(&request(lines)).text, THANKS);
    }

    #[test]
    fn an_instruction_after_silence_is_a_follow_up() {
        let lines = vec![
            Line::Contact("Hi".into()),
            Line::Assistant(GREETING.into()),
            Line::Instruction("Write a follow-up.".into()),
        ];
        assert_eq!(answer(&request(lines)).text, CHECKING_IN);
    }

    #[test]
    fn the_answer_about_delivery_is_three_messages_long() {
        let paragraphs: Vec<&str> = DELIVERY.split("\n\n").collect();
        assert_eq!(paragraphs.len(), 3);
        for pair in paragraphs.windows(2) {
            assert!(pair[0].len() + pair[1].len() > 600, "no two of them fit into one part");
            assert!(pair.iter().all(|paragraph| paragraph.len() <= 600));
        }
    }
}
