//! Place: what the model may do besides writing: hand over, stay silent, schedule a follow-up. Read here, done by the
//! commit of its turn or not at all.

use serde::Deserialize;

use super::{
    agenda::Wish,
    generator::{Line, ToolCall, Written},
    reply::Answer,
};

/// Longest delay that the model may ask for: a year of hours.
const FOLLOW_UP_HOURS_MAX: f64 = 8_784.0;

/// What the model's answer means.
pub enum Understood {
    /// The turn can be committed.
    Done(Answer),
    /// The model waits for the results of its calls.
    Again(String, Vec<ToolCall>, Vec<Line>),
}

#[derive(Deserialize)]
struct WithReason {
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize)]
struct WithDelay {
    delay_hours: f64,
    #[serde(default)]
    text: Option<String>,
}

/// What the model has asked for in the rounds of a turn so far.
#[derive(Debug, Default)]
pub struct Asked {
    /// A follow-up.
    pub follow_up: Option<Wish>,
    /// A person, when none was there: the reason.
    pub hand_over: Option<String>,
}

/// Reads the tools called. Handing over and staying silent end the turn; words beside any call are the last ones. While
/// nobody is there to take over, the model is told until when, and writes once more: what it wrote beside the call would
/// promise somebody.
pub fn understand(written: Written, asked: &mut Asked, away_until: Option<&str>) -> Understood {
    let mut answer = Answer { text: storable(&written.text), ..Answer::default() };
    let (mut results, mut noted_now) = (Vec::new(), false);
    for call in &written.calls {
        let result = match call.name.as_str() {
            "hand_over" => match away_until.filter(|_| asked.hand_over.is_none()) {
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
                    "done".to_owned()
                }
            },
            "stay_silent" => {
                answer.stay_silent = Some(reason_of(call));
                "done".to_owned()
            }
            "schedule_follow_up" => match wish_of(call) {
                Ok(wish) => {
                    asked.follow_up = Some(wish);
                    "scheduled, if the contact stays silent".to_owned()
                }
                Err(problem) => problem,
            },
            _ => "there is no such tool".to_owned(),
        };
        results.push(Line::Result { call: call.id.clone(), text: result });
    }
    let is_done = written.calls.is_empty()
        || answer.hand_over.is_some()
        || answer.stay_silent.is_some()
        || !answer.text.trim().is_empty();
    if is_done && !noted_now {
        answer.follow_up = asked.follow_up.take();
        answer.hand_over = answer.hand_over.or_else(|| asked.hand_over.take());
        Understood::Done(answer)
    } else {
        Understood::Again(answer.text, written.calls, results)
    }
}

/// The reason is for people; a call without one is a call all the same.
fn reason_of(call: &ToolCall) -> String {
    serde_json::from_str::<WithReason>(&call.arguments)
        .ok()
        .and_then(|arguments| arguments.reason)
        .map_or_else(|| "not said".to_owned(), |reason| storable(&reason))
}

/// Without what PostgreSQL cannot keep: the turn could not be committed, and would be paid for again and again.
fn storable(text: &str) -> String {
    text.replace('\0', "")
}

#[allow(clippy::cast_possible_truncation, reason = "bounded by FOLLOW_UP_HOURS_MAX")]
fn wish_of(call: &ToolCall) -> Result<Wish, String> {
    let arguments: WithDelay = serde_json::from_str(&call.arguments)
        .map_err(|_| "the arguments are not {\"delay_hours\": number, \"text\"?: string}".to_owned())?;
    if !(arguments.delay_hours > 0.0 && arguments.delay_hours <= FOLLOW_UP_HOURS_MAX) {
        return Err(format!("delay_hours must be more than 0 and at most {FOLLOW_UP_HOURS_MAX}"));
    }
    Ok(Wish {
        delay_ms: Some((arguments.delay_hours * 3_600_000.0) as i64),
        text: arguments.text.map(|text| storable(&text)).filter(|text| !text.trim().is_empty()),
        ..Wish::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, calls: &[(&str, &str)]) -> Written {
        let calls = calls.iter().enumerate().map(|(n, (name, arguments))| ToolCall {
            id: format!("call_{n}"),
            name: (*name).to_owned(),
            arguments: (*arguments).to_owned(),
        });
        Written { text: text.to_owned(), calls: calls.collect(), ..Written::default() }
    }

    #[test]
    fn handing_over_ends_the_turn_with_the_words_beside_the_call() {
        let mut asked = Asked::default();
        let hand_over = written("A colleague comes.", &[("hand_over", r#"{"reason":"asked"}"#)]);
        let Understood::Done(answer) = understand(hand_over, &mut asked, None) else { panic!("not done") };
        assert_eq!(
            (answer.text.as_str(), answer.hand_over.as_deref()),
            ("A colleague comes.", Some("asked"))
        );
        let without_reason = written("", &[("hand_over", "no JSON")]);
        let Understood::Done(answer) = understand(without_reason, &mut asked, None) else {
            panic!("not done")
        };
        assert_eq!(answer.hand_over.as_deref(), Some("not said"));
    }

    #[test]
    fn a_follow_up_without_words_asks_the_model_on_and_is_kept_for_the_words_that_come() {
        let mut asked = Asked::default();
        let schedule = written("", &[("schedule_follow_up", r#"{"delay_hours":24}"#)]);
        let Understood::Again(_, calls, results) = understand(schedule, &mut asked, None) else {
            panic!("done")
        };
        assert_eq!((calls.len(), results.len()), (1, 1));
        let Understood::Done(answer) = understand(written("Until tomorrow.", &[]), &mut asked, None) else {
            panic!("not done")
        };
        assert_eq!(answer.follow_up.and_then(|wish| wish.delay_ms), Some(86_400_000));
    }

    #[test]
    fn a_call_that_makes_no_sense_is_told_to_the_model_and_does_nothing() {
        for call in [
            ("schedule_follow_up", r#"{"delay_hours":0}"#),
            ("schedule_follow_up", r#"{"delay_hours":1e9}"#),
            ("schedule_follow_up", "soon"),
            ("open_the_safe", "{}"),
        ] {
            let mut asked = Asked::default();
            assert!(
                matches!(understand(written("", &[call]), &mut asked, None), Understood::Again(..)),
                "{call:?}"
            );
            assert_eq!(asked.follow_up, None, "{call:?}");
        }
    }

    #[test]
    fn while_nobody_is_there_the_model_is_told_until_when_and_writes_again() {
        let mut asked = Asked::default();
        let call = ("hand_over", r#"{"reason":"asked for Ana"}"#);
        let promise = written("A colleague comes at once.", &[call]);
        let Understood::Again(_, _, results) = understand(promise, &mut asked, Some("Monday 09:00")) else {
            panic!("the promise would be kept by nobody")
        };
        assert!(matches!(&results[0], Line::Result { text, .. } if text.contains("before Monday 09:00")));
        let again = written("They are back on Monday.", &[]);
        let Understood::Done(answer) = understand(again, &mut asked, Some("Monday 09:00")) else {
            panic!("not done")
        };
        assert_eq!(
            (answer.text.as_str(), answer.hand_over.as_deref()),
            ("They are back on Monday.", Some("asked for Ana"))
        );
        // One that insists is believed, so that a turn has an end.
        understand(written("", &[call]), &mut asked, Some("Monday 09:00"));
        let Understood::Done(_) = understand(written("", &[call]), &mut asked, Some("Monday 09:00")) else {
            panic!("not done")
        };
    }
}
