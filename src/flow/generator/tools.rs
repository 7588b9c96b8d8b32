//! Place: what the model may do besides writing: hand over, stay silent, schedule a follow-up, and what it may ask of the
//! business. Read here, done by the commit of its turn or not at all.

mod own;

use serde::Deserialize;

use super::{ToolCall, Written};
use crate::{
    domain::{markdown, tool::Tool},
    flow::{agenda::NewFollowUp, reply::Answer},
};
pub use own::Asking;

/// Longest delay that the model may ask for: a year of hours.
const FOLLOW_UP_HOURS_MAX: f64 = 8_784.0;

/// The result of a call that ends the turn.
const DONE: &str = "done";

/// Its result where the turn continues, since another call was not done.
const NOT_YET: &str = "not done yet, for another call was not: call this again if it is still wanted";

/// What the model's answer means.
pub enum Understood {
    /// The turn can be committed.
    Done(Box<Answer>),
    /// The model waits for the results of its calls; with the words alongside them.
    Again(String, Vec<(ToolCall, Gave)>),
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gave {
    /// This, for the model to read.
    Words(String),
    /// The business must be asked first.
    Question(Asking),
}

#[derive(Deserialize)]
struct WithReason {
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize)]
struct WithDelay {
    delay_hours: Hours,
    #[serde(default)]
    text: Option<String>,
}

/// A number, which some models write as text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Hours {
    Number(f64),
    Text(String),
}

/// What the model has asked for in the rounds of a turn so far.
#[derive(Debug, Default)]
pub struct Asked {
    /// Whether the contact may be followed up.
    pub may_follow_up: bool,
    /// A follow-up.
    pub follow_up: Option<NewFollowUp>,
    /// A person, when none was there: the reason.
    pub hand_over: Option<String>,
    /// Errands of the business.
    pub errands: Vec<Asking>,
    /// What the business was asked, by the names of the tools.
    pub looked_up: Vec<String>,
}

/// Whether a tool needs no other round with the model.
pub fn ends_a_turn(name: &str) -> bool {
    matches!(name, "hand_over" | "stay_silent")
}

/// Reads the tools called. Handing over and staying silent end the turn, unless a call alongside them is not done, of
/// which nobody would learn; words alongside any call are the last ones, unless the model waits for an answer of the business,
/// or a call is not done, which they would promise. While nobody is there to take over, the model is told until when, and
/// writes again: what it wrote alongside the call would promise somebody.
pub fn understand(written: Written, asked: &mut Asked, away_until: Option<&str>, own: &[Tool]) -> Understood {
    let mut answer = Answer { text: shown(&written.text), is_cut: written.is_cut, ..Answer::default() };
    let (mut gave, mut noted_now, mut must_tell, mut is_refused) = (Vec::new(), false, false, false);
    for call in &written.calls {
        let of_call = match call.name.as_str() {
            "hand_over" => Ok(Gave::Words(match away_until.filter(|_| asked.hand_over.is_none()) {
                Some(until) => {
                    noted_now = true;
                    asked.hand_over = Some(reason_of(call));
                    format!(
                        "No colleague is there before {until}. It is noted for them. Tell the contact when \
                         colleagues are back, and go on helping."
                    )
                }
                None => {
                    answer.hand_over = Some(reason_of(call));
                    DONE.to_owned()
                }
            })),
            "stay_silent" => {
                answer.stay_silent = Some(reason_of(call));
                Ok(Gave::Words(DONE.to_owned()))
            }
            "schedule_follow_up" => scheduling(call, asked),
            name => match own.iter().find(|tool| tool.name == name) {
                Some(tool) => asking(tool, call, asked, &gave),
                None => Err("there is no such tool".to_owned()),
            },
        };
        must_tell |= !matches!(of_call, Ok(Gave::Words(_)));
        is_refused |= of_call.is_err();
        gave.push(of_call.unwrap_or_else(|problem| Gave::Words(format!("not done: {problem}"))));
    }
    let is_done = written.calls.is_empty()
        || (answer.hand_over.is_some() || answer.stay_silent.is_some()) && !is_refused
        || !answer.text.trim().is_empty() && !must_tell;
    if is_done && !noted_now {
        answer.follow_up = asked.follow_up.take();
        answer.hand_over = answer.hand_over.or_else(|| asked.hand_over.take());
        answer.errands = std::mem::take(&mut asked.errands);
        answer.looked_up = std::mem::take(&mut asked.looked_up);
        Understood::Done(Box::new(answer))
    } else {
        for (call, gave) in written.calls.iter().zip(&mut gave) {
            if is_refused && ends_a_turn(&call.name) && *gave == Gave::Words(DONE.to_owned()) {
                *gave = Gave::Words(NOT_YET.to_owned());
            }
        }
        Understood::Again(answer.text, written.calls.into_iter().zip(gave).collect())
    }
}

/// A follow-up that is noted, if the contact wants any.
fn scheduling(call: &ToolCall, asked: &mut Asked) -> Result<Gave, String> {
    let new = follow_up_of(call)?;
    if !asked.may_follow_up {
        return Err("this contact has asked for no messages of that kind".to_owned());
    }
    asked.follow_up = Some(new);
    Ok(Gave::Words("scheduled, if the contact stays silent".to_owned()))
}

/// A call of the business's own, after those: a question, or an errand that is noted.
fn asking(tool: &Tool, call: &ToolCall, asked: &mut Asked, before: &[Gave]) -> Result<Gave, String> {
    let asking = own::read(tool, call)?;
    if tool.look_up.is_some() {
        let questions = before.iter().filter(|gave| matches!(gave, Gave::Question(_))).count();
        if questions == own::LOOK_UPS_MAX {
            return Err(format!("at most {} questions at once", own::LOOK_UPS_MAX));
        }
        return Ok(Gave::Question(asking));
    }
    // Models like to ask again along with the words that report it.
    if !asked.errands.contains(&asking) {
        if asked.errands.len() == own::ERRANDS_MAX {
            return Err(format!("at most {} in one answer", own::ERRANDS_MAX));
        }
        asked.errands.push(asking);
    }
    Ok(Gave::Words("accepted: it is passed on as your answer to the contact leaves".to_owned()))
}

/// The reason is for people; a call without one is a call all the same.
fn reason_of(call: &ToolCall) -> String {
    serde_json::from_str::<WithReason>(&call.arguments)
        .ok()
        .and_then(|arguments| arguments.reason)
        .map_or_else(|| "not said".to_owned(), |reason| storable(&reason))
}

/// Words for the contact.
fn shown(text: &str) -> String {
    markdown::as_shown(&storable(text))
}

/// Without what PostgreSQL cannot keep: the turn could not be committed, and would be paid for again and again.
fn storable(text: &str) -> String {
    text.replace('\0', "")
}

#[allow(clippy::cast_possible_truncation, reason = "bounded by FOLLOW_UP_HOURS_MAX")]
fn follow_up_of(call: &ToolCall) -> Result<NewFollowUp, String> {
    let not_such = || "the arguments are not {\"delay_hours\": number, \"text\"?: string}".to_owned();
    let arguments: WithDelay = serde_json::from_str(&call.arguments).map_err(|_| not_such())?;
    let hours = match arguments.delay_hours {
        Hours::Number(hours) => hours,
        Hours::Text(text) => text.trim().parse().map_err(|_| not_such())?,
    };
    if !(hours > 0.0 && hours <= FOLLOW_UP_HOURS_MAX) {
        return Err(format!("delay_hours must be more than 0 and at most {FOLLOW_UP_HOURS_MAX}"));
    }
    Ok(NewFollowUp {
        delay_ms: Some((hours * 3_600_000.0) as i64),
        text: arguments.text.map(|text| shown(&text)).filter(|text| !text.trim().is_empty()),
        ..NewFollowUp::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may() -> Asked {
        Asked { may_follow_up: true, ..Asked::default() }
    }

    fn written(text: &str, calls: &[(&str, &str)]) -> Written {
        let calls = calls.iter().enumerate().map(|(n, (name, arguments))| ToolCall {
            id: format!("call_{n}"),
            name: (*name).to_owned(),
            arguments: (*arguments).to_owned(),
            ..ToolCall::default()
        });
        Written { text: text.to_owned(), calls: calls.collect(), ..Written::default() }
    }

    #[test]
    fn handing_over_ends_the_turn_with_the_words_beside_the_call() {
        let mut asked = may();
        let hand_over = written("A colleague comes.", &[("hand_over", r#"{"reason":"asked"}"#)]);
        let Understood::Done(answer) = understand(hand_over, &mut asked, None, &[]) else {
            panic!("not done")
        };
        assert_eq!(
            (answer.text.as_str(), answer.hand_over.as_deref()),
            ("A colleague comes.", Some("asked"))
        );
        let without_reason = written("", &[("hand_over", "no JSON")]);
        let Understood::Done(answer) = understand(without_reason, &mut asked, None, &[]) else {
            panic!("not done")
        };
        assert_eq!(answer.hand_over.as_deref(), Some("not said"));
    }

    #[test]
    fn what_the_contact_reads_is_written_as_whatsapp_shows_it() {
        let mut asked = may();
        let schedule = r#"{"delay_hours":24,"text":"**Still** there?"}"#;
        let answer = written("It is **open**.", &[("schedule_follow_up", schedule)]);
        let Understood::Done(answer) = understand(answer, &mut asked, None, &[]) else { panic!("not done") };
        let follow_up = answer.follow_up.and_then(|new| new.text);
        assert_eq!((answer.text.as_str(), follow_up.as_deref()), ("It is *open*.", Some("*Still* there?")));
    }

    #[test]
    fn a_follow_up_without_words_asks_the_model_on_and_is_kept_for_the_words_that_come() {
        let mut asked = may();
        let schedule = written("", &[("schedule_follow_up", r#"{"delay_hours":24}"#)]);
        let Understood::Again(_, calls) = understand(schedule, &mut asked, None, &[]) else { panic!("done") };
        assert_eq!(calls.len(), 1);
        let Understood::Done(answer) = understand(written("Until tomorrow.", &[]), &mut asked, None, &[])
        else {
            panic!("not done")
        };
        assert_eq!(answer.follow_up.and_then(|new| new.delay_ms), Some(86_400_000));
    }

    #[test]
    fn a_call_that_makes_no_sense_is_told_to_the_model_and_does_nothing() {
        for call in [
            ("schedule_follow_up", r#"{"delay_hours":0}"#),
            ("schedule_follow_up", r#"{"delay_hours":1e9}"#),
            ("schedule_follow_up", "soon"),
            ("open_the_safe", "{}"),
        ] {
            for words in ["", "I will write to you tomorrow."] {
                let mut asked = may();
                let understood = understand(written(words, &[call]), &mut asked, None, &[]);
                assert!(matches!(understood, Understood::Again(..)), "{call:?} {words}");
                assert_eq!(asked.follow_up, None, "{call:?}");
            }
        }
    }

    #[test]
    fn nothing_is_promised_to_whoever_wants_no_follow_up() {
        let mut asked = Asked { may_follow_up: false, ..Asked::default() };
        let promise = written(
            "Done, I will write to you tomorrow!",
            &[("schedule_follow_up", r#"{"delay_hours":24}"#)],
        );
        let told = gave(understand(promise, &mut asked, None, &[]));
        assert!(matches!(&told[0], Gave::Words(text) if text.starts_with("not done")), "{told:?}");
        assert_eq!(asked.follow_up, None);
    }

    #[test]
    fn a_number_of_hours_may_be_written_as_text() {
        let mut asked = may();
        let schedule = written("Until tomorrow.", &[("schedule_follow_up", r#"{"delay_hours":" 1.5 "}"#)]);
        let Understood::Done(answer) = understand(schedule, &mut asked, None, &[]) else {
            panic!("not done")
        };
        assert_eq!(answer.follow_up.and_then(|new| new.delay_ms), Some(5_400_000));
    }

    #[test]
    fn while_nobody_is_there_the_model_is_told_until_when_and_writes_again() {
        let mut asked = may();
        let call = ("hand_over", r#"{"reason":"asked for Ana"}"#);
        let promise = written("A colleague comes at once.", &[call]);
        let Understood::Again(_, calls) = understand(promise, &mut asked, Some("Monday 09:00"), &[]) else {
            panic!("the promise would be kept by nobody")
        };
        assert!(matches!(&calls[0].1, Gave::Words(text) if text.contains("before Monday 09:00")));
        let again = written("They are back on Monday.", &[]);
        let Understood::Done(answer) = understand(again, &mut asked, Some("Monday 09:00"), &[]) else {
            panic!("not done")
        };
        assert_eq!(
            (answer.text.as_str(), answer.hand_over.as_deref()),
            ("They are back on Monday.", Some("asked for Ana"))
        );
        // One that insists is believed, so that a turn has an end.
        understand(written("", &[call]), &mut asked, Some("Monday 09:00"), &[]);
        let Understood::Done(_) = understand(written("", &[call]), &mut asked, Some("Monday 09:00"), &[])
        else {
            panic!("not done")
        };
    }

    #[test]
    fn an_answer_that_its_server_has_cut_is_one_and_known_for_it() {
        let cut = Written { is_cut: true, ..written("From Monday to Fri", &[]) };
        let Understood::Done(answer) = understand(cut, &mut may(), None, &[]) else { panic!("not done") };
        assert!(answer.is_cut);
    }

    fn own(look_up: bool) -> Vec<Tool> {
        let parameters = serde_json::json!({ "type": "object", "required": ["order"] });
        let look_up = look_up.then(|| crate::domain::tool::LookUp { url: String::new(), timeout_ms: 1 });
        let parameters = serde_json::from_value(parameters).expect("an object");
        vec![Tool { name: "orders".into(), description: String::new(), parameters, look_up }]
    }

    const RIGHT: (&str, &str) = ("orders", r#"{"order":"7"}"#);
    const WRONG: (&str, &str) = ("orders", "{}");

    fn gave(understood: Understood) -> Vec<Gave> {
        match understood {
            Understood::Again(_, calls) => calls.into_iter().map(|(_, gave)| gave).collect(),
            Understood::Done(answer) => panic!("done: {answer:?}"),
        }
    }

    #[test]
    fn a_question_keeps_the_turn_open_whatever_is_written_beside_it() {
        let mut asked = may();
        let alone = gave(understand(written("One moment.", &[RIGHT]), &mut asked, None, &own(true)));
        assert!(matches!(alone[0], Gave::Question(_)), "{alone:?}");
        let calls = written("One moment.", &[RIGHT, WRONG]);
        let gave = gave(understand(calls, &mut asked, None, &own(true)));
        assert!(matches!(&gave[0], Gave::Question(asking) if asking.arguments["order"] == "7"), "{gave:?}");
        assert_eq!(gave[1], Gave::Words("not done: the arguments lack \"order\"".into()));
        let ended = written("", &[RIGHT, ("hand_over", "{}")]);
        assert!(
            matches!(understand(ended, &mut asked, None, &own(true)), Understood::Done(_)),
            "nobody reads it"
        );
    }

    #[test]
    fn nobody_takes_over_before_the_model_has_heard_what_was_not_done() {
        for ends in [("hand_over", r#"{"reason":"asked"}"#), ("stay_silent", "{}")] {
            let mut asked = may();
            let promise = written("I have booked your table.", &[ends, WRONG]);
            let told = gave(understand(promise, &mut asked, None, &own(false)));
            assert_eq!(told[0], Gave::Words(NOT_YET.to_owned()), "{ends:?}");
            assert!(matches!(&told[1], Gave::Words(text) if text.starts_with("not done")), "{told:?}");
            let again = understand(written("Which table?", &[ends]), &mut asked, None, &own(false));
            let Understood::Done(answer) = again else { panic!("not done") };
            assert!(
                answer.errands.is_empty() && (answer.hand_over.is_some() || answer.stay_silent.is_some())
            );
        }
        let mut asked = may();
        let promise = written("They come.", &[("hand_over", "{}"), WRONG]);
        let told = gave(understand(promise, &mut asked, Some("Monday 09:00"), &own(false)));
        assert!(matches!(&told[0], Gave::Words(text) if text.starts_with("No colleague")), "noted once");
        let done = written("Booked.", &[("hand_over", "{}"), RIGHT]);
        assert!(matches!(understand(done, &mut may(), None, &own(false)), Understood::Done(_)));
    }

    #[test]
    fn an_errand_is_accepted_and_kept_for_the_words_that_come() {
        let mut asked = may();
        let accepted = gave(understand(written("", &[RIGHT]), &mut asked, None, &own(false)));
        assert!(matches!(&accepted[0], Gave::Words(text) if text.starts_with("accepted")), "{accepted:?}");
        let words = written("It is done.", &[]);
        let Understood::Done(answer) = understand(words, &mut asked, None, &own(false)) else {
            panic!("not done")
        };
        assert_eq!(answer.errands.iter().map(|it| &it.arguments["order"]).collect::<Vec<_>>(), ["7"]);
        // With words beside it, it is the last of the turn; one that made no sense is not.
        let beside = understand(written("It is done.", &[RIGHT]), &mut asked, None, &own(false));
        assert!(matches!(beside, Understood::Done(answer) if answer.errands.len() == 1));
        let refused = understand(written("It is done.", &[WRONG]), &mut asked, None, &own(false));
        assert!(matches!(gave(refused)[0], Gave::Words(_)));
        assert_eq!(asked.errands, [], "what made no sense is not done");
    }

    #[test]
    fn a_model_gone_astray_has_its_limits() {
        let mut asked = may();
        let many = gave(understand(written("", &[RIGHT; 9]), &mut asked, None, &own(true)));
        assert!(many[..8].iter().all(|gave| matches!(gave, Gave::Question(_))));
        assert_eq!(many[8], Gave::Words("not done: at most 8 questions at once".into()));
        let orders: Vec<String> = (0..9).map(|order| format!(r#"{{"order":"{order}"}}"#)).collect();
        let errands: Vec<_> = orders.iter().map(|order| ("orders", order.as_str())).collect();
        let many = gave(understand(written("", &errands), &mut asked, None, &own(false)));
        assert_eq!(many[8], Gave::Words("not done: at most 8 in one answer".into()));
        let more = gave(understand(written("", &errands[8..]), &mut asked, None, &own(false)));
        assert_eq!((more.len(), asked.errands.len()), (1, 8), "nor in a later round");
    }

    #[test]
    fn the_same_errand_is_done_once_however_often_the_model_asks_for_it() {
        let mut asked = may();
        let twice = gave(understand(written("", &[RIGHT, RIGHT]), &mut asked, None, &own(false)));
        assert_eq!(twice[0], twice[1], "it is told so each time");
        let beside = understand(written("It is done.", &[RIGHT]), &mut asked, None, &own(false));
        let Understood::Done(answer) = beside else { panic!("not done") };
        assert_eq!(answer.errands.len(), 1);
    }
}
