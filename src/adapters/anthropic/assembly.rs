//! Puts events together. In: events, in order. Out: an answer that has grown by them, or why there is none.

use serde_json::Value;

use super::event::{Block, Event, Message, Piece, Usage};
use crate::{
    adapters::model_server::{Assembly, Call, Flow, error_frame},
    flow::generator::Failure,
};

/// Adds one event.
pub(super) fn take(assembly: &mut Assembly, event: Event) -> Result<Flow, Failure> {
    match event {
        Event::MessageStart { message } => count(assembly, message.usage.as_ref()),
        Event::ContentBlockStart { index, content_block } => begin(assembly, Some(index), content_block)?,
        Event::ContentBlockDelta { index, delta } => add(assembly, index, delta)?,
        Event::MessageDelta { delta, usage } => {
            count(assembly, usage.as_ref());
            stop(assembly, delta.stop_reason.as_deref());
        }
        Event::MessageStop => {
            assembly.end();
            return Ok(Flow::Ends);
        }
        Event::Error { error } => return Err(error_frame(&error)),
        Event::Other => {}
    }
    Ok(Flow::Goes)
}

/// Adds a message that came in one piece.
pub(super) fn take_whole(assembly: &mut Assembly, message: Message) -> Result<(), Failure> {
    if let Some(error) = message.error {
        return Err(error_frame(&error));
    }
    count(assembly, message.usage.as_ref());
    message.content.into_iter().flatten().try_for_each(|block| begin(assembly, None, block))?;
    stop(assembly, message.stop_reason.as_deref());
    Ok(())
}

fn begin(assembly: &mut Assembly, index: Option<i64>, block: Block) -> Result<(), Failure> {
    match block {
        Block::Text { text } => assembly.write(&text),
        Block::ToolUse { id, name, input } => {
            // An empty object stands for pieces to come; if none comes, no arguments are what was meant.
            let arguments = match &input {
                Value::Object(fields) if !fields.is_empty() => input.to_string(),
                _ => String::new(),
            };
            assembly.is_parted = true;
            assembly.begin_call(Call { index, id, name, arguments, extra: None })?;
        }
        Block::Other => assembly.is_parted = true,
    }
    Ok(())
}

fn add(assembly: &mut Assembly, index: i64, piece: Piece) -> Result<(), Failure> {
    match piece {
        Piece::TextDelta { text } => assembly.write(&text),
        Piece::InputJsonDelta { partial_json } => {
            // The last of that number: the service's own tools write such pieces too, but their blocks are no calls.
            if let Some(call) = assembly.calls.iter_mut().rfind(|call| call.index == Some(index)) {
                call.arguments.push_str(&partial_json);
            }
        }
        Piece::Other => {}
    }
    Ok(())
}

fn count(assembly: &mut Assembly, usage: Option<&Usage>) {
    let Some(usage) = usage else { return };
    assembly.count(usage.input(), usage.output_tokens);
}

/// A refusal is the service's filter, whatever was written before it. Any other reason is an end, also one of length.
fn stop(assembly: &mut Assembly, reason: Option<&str>) {
    match reason {
        None | Some("" | "null") => {}
        Some("refusal") => assembly.filter(),
        Some(reason) => {
            assembly.is_cut |= matches!(reason, "max_tokens" | "model_context_window_exceeded");
            assembly.end();
        }
    }
}
