//! What earlier turns had the business do, before the words that report it: otherwise the model books the same table again,
//! and learns from its own words to promise without a call.
//!
//! In: the events of a conversation, and the messages that the model reads of it. Out: calls that are done, each with its place.

use serde_json::Value;

use crate::{
    domain::{
        event::{Event, EventType},
        message::{Author, Message},
        time::Time,
        tool::Tool,
    },
    flow::{
        archive::{Archive, EventFilter, PageOf},
        generator::{Line, ToolCall},
        inbox::Begun,
        ledger::Error,
    },
};

/// Calls shown at most, the newest.
const DONE_MAX: usize = 20;

/// Puts what was done between the lines, of which each is that message.
pub(super) async fn recall(
    archive: &dyn Archive,
    tools: &[Tool],
    begun: &Begun,
    said: &[&Message],
    lines: &mut Vec<Line>,
) -> Result<(), Error> {
    let Some(first) = said.first().filter(|_| begun.has_asked_the_business) else { return Ok(()) };
    let mut events = Vec::new();
    for conversation in begun.merged.iter().chain([&begun.conversation]) {
        events.extend(told(archive, *conversation, first.at).await?);
    }
    let mut calls: Vec<(usize, ToolCall)> =
        events.iter().filter_map(|event| Some((place(event, said)?, call(event, tools)?))).collect();
    calls.sort_by_key(|(at, _)| *at);
    calls.drain(..calls.len().saturating_sub(DONE_MAX));
    for (number, (at, call)) in calls.into_iter().enumerate().rev() {
        // Letters and digits, nine of them, as the strictest server wants.
        let id = format!("done{number:05}");
        let result = Line::Result { call: id.clone(), text: "passed on".to_owned() };
        lines.splice(at..at, [Line::Calls(String::new(), vec![ToolCall { id, ..call }]), result]);
    }
    Ok(())
}

async fn told(archive: &dyn Archive, conversation: uuid::Uuid, since: Time) -> Result<Vec<Event>, Error> {
    let filter = EventFilter {
        conversation: Some(conversation),
        kinds: vec![EventType::ToolCalled],
        since: Some(since),
        descending: true,
        ..EventFilter::default()
    };
    let page = archive.events(&filter, &PageOf { limit: DONE_MAX, cursor: None }).await?;
    // The newest come first; of one moment the order is that of their numbers.
    Ok(page.items.into_iter().rev().map(|recorded| recorded.event).collect())
}

/// Before the first words of its turn. Without any there is no place: some servers refuse what a call gave before anything but
/// an answer.
fn place(event: &Event, said: &[&Message]) -> Option<usize> {
    let is_of_turn = |message: &&Message| {
        message.author == Author::Assistant && message.turn.is_some() && message.turn == event.turn
    };
    said.iter().position(is_of_turn)
}

/// None for a tool that no longer exists, and for an erased call.
fn call(event: &Event, tools: &[Tool]) -> Option<ToolCall> {
    let name = event.details.get("tool")?.as_str()?;
    let arguments =
        event.details.get("arguments").filter(|arguments| matches!(arguments, Value::Object(_)))?;
    tools.iter().any(|tool| tool.name == name).then(|| ToolCall {
        name: name.to_owned(),
        arguments: arguments.to_string(),
        ..ToolCall::default()
    })
}
