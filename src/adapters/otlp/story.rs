//! Rules: which spans a commit yields.
//!
//! In: how far messages and turns have come. Out: spans of what has ended by that, each once. `message` is the root: from
//! the acceptance to the outcome, or to the last part of the answer. Below it `webhook`, `wait` until a turn begins,
//! `generation`, a `send` for each attempt of each part, `reconcile` where its fate was unclear, `delivered` and `read`.
//! A turn is shown in the trace of its first message, and linked to the others. Never words, names or numbers.

use opentelemetry::trace::SpanKind;
use opentelemetry_sdk::trace::SpanData;
use uuid::Uuid;

use super::{Glimpse, known::Known, span::Span};
use crate::domain::{
    docket::{MessageProgress, TurnProgress},
    message::{Delivery, DeliveryState as S, Inbound, Outcome},
    turn::{Purpose, Turn, TurnState},
};

/// The spans of a commit.
pub(super) async fn tell(known: &mut Known, provider: &'static str, of: &Glimpse) -> Vec<SpanData> {
    for message in of.messages.iter().filter(|message| message.inbound.is_some()) {
        known.meet(message.id, message.at);
    }
    for ran in &of.turns {
        known.keep_turn(ran.turn.id, &ran.turn.messages);
    }
    let is_new = |message: &&MessageProgress| message.inbound.is_some() && message.before.is_none();
    let mut spans: Vec<Span> =
        of.messages.iter().filter(is_new).map(|message| webhook(of, message)).collect();
    for ran in &of.turns {
        if ran.before.is_none() && ran.turn.purpose == Purpose::Reply {
            spans.extend(waits(known, of, &ran.turn).await);
        }
        spans.extend(generation(provider, of, ran));
        for message in ran.turn.ended_at.iter().flat_map(|_| &ran.turn.messages) {
            if let Some(met) = known.find(*message).await {
                met.waits_since = met.waits_since.max(ran.turn.ended_at.unwrap_or(of.at));
            }
        }
    }
    for message in &of.messages {
        if let (Some(turn), Some(delivery)) = (message.turn, &message.delivery)
            && message.before.is_none_or(|before| before.state != Some(delivery.state))
            && let Some(first) = known.messages_of(turn).await.first()
        {
            spans.extend(attempt(of, *first, message, delivery));
            spans.extend(arrival(of, *first, message, delivery));
        }
    }
    roots(known, of, &mut spans).await;
    spans.into_iter().map(Span::done).collect()
}

fn webhook(of: &Glimpse, message: &MessageProgress) -> Span {
    Span::under(of, message.id, "webhook", &[message.id], message.at, message.at)
        .lasting(of.took)
        .kind(SpanKind::Server)
        .with("messaging.operation.type", "receive")
        .with("messaging.message.id", message.id.to_string())
}

/// Each message has waited for the turn, or for this one since the one before has ended.
async fn waits(known: &mut Known, of: &Glimpse, turn: &Turn) -> Vec<Span> {
    let mut spans = Vec::with_capacity(turn.messages.len());
    for message in &turn.messages {
        let Some(since) = known.find(*message).await.map(|met| met.waits_since) else { continue };
        let about = [*message, turn.id];
        let span = Span::under(of, *message, "wait", &about, since, turn.started_at)
            .with("baton.turn.id", turn.id.to_string());
        spans.push(linked_to_first(span, *message, &turn.messages));
    }
    spans
}

/// The turn itself is told elsewhere if another message came first.
fn linked_to_first(span: Span, message: Uuid, messages: &[Uuid]) -> Span {
    match messages.first() {
        Some(first) if *first != message => span.linked(*first),
        _ => span,
    }
}

/// A generation that has ended. One whose permit was withdrawn is told when whoever runs it has stopped: only they know
/// what it has cost. Whoever takes one over tells it for the instance that was lost; should that come back, it tells more.
fn generation(provider: &'static str, of: &Glimpse, ran: &TurnProgress) -> Option<Span> {
    let (turn, before) = (&ran.turn, ran.before?);
    let was_running = before == TurnState::Generating;
    let is_withdrawn = match turn.state {
        TurnState::Generating => return None,
        TurnState::Cancelled | TurnState::Superseded => was_running && of.fence > turn.fence,
        TurnState::Completed | TurnState::Failed => false,
    };
    let (first, others) = turn.messages.split_first()?;
    if is_withdrawn {
        return None;
    }
    let ended_at = turn.ended_at.unwrap_or(of.at);
    let about = if was_running { [turn.id, *first] } else { [turn.id, turn.id] };
    let tokens = |count: i64| (count > 0).then_some(count);
    let span = Span::under(of, *first, "generation", &about, turn.started_at, ended_at)
        .kind(SpanKind::Client)
        .with("gen_ai.operation.name", "chat")
        .with("gen_ai.provider.name", provider)
        .with("gen_ai.conversation.id", of.conversation.to_string())
        .maybe("gen_ai.request.model", Some(turn.model.clone()).filter(|model| !model.is_empty()))
        .maybe("gen_ai.usage.input_tokens", tokens(turn.input_tokens))
        .maybe("gen_ai.usage.output_tokens", tokens(turn.output_tokens))
        .maybe("baton.turn.first_token_ms", turn.first_token_at.map(|at| at.since(turn.started_at)))
        .with("baton.turn.id", turn.id.to_string())
        .with("baton.turn.purpose", turn.purpose.as_str())
        .with("baton.turn.state", turn.state.as_str())
        .maybe("baton.turn.reason", turn.reason.clone())
        .with("baton.turn.attempt", i64::from(turn.attempt))
        .with("baton.turn.messages", i64::try_from(turn.messages.len()).unwrap_or(i64::MAX));
    let span = others.iter().fold(span, |span, other| span.linked(*other));
    Some(match (turn.state, &turn.reason) {
        (TurnState::Failed, Some(reason)) => span.failed(reason),
        _ => span,
    })
}

/// An attempt to send a part that has ended, the end of a part that never left, or the end of a doubt.
fn attempt(of: &Glimpse, first: Uuid, message: &MessageProgress, delivery: &Delivery) -> Option<Span> {
    let before = message.before?.state?;
    let name = match before {
        S::Sending => "send",
        S::Queued if delivery.state == S::Cancelled => "send",
        S::Unknown => "reconcile",
        // What was held for not sent has left after all.
        S::Queued | S::Failed | S::Dead | S::Cancelled if delivery.state.is_accepted() => "reconcile",
        S::Queued | S::Failed | S::Dead | S::Cancelled | S::Sent | S::Delivered | S::Read => return None,
    };
    let is_untried = before == S::Queued && delivery.state == S::Cancelled;
    let (about, from) = match delivery.attempt.filter(|_| !is_untried) {
        Some(attempt) => (attempt.id, attempt.at),
        None => (message.id, delivery.queued_at),
    };
    let span = Span::under(of, first, name, &[about], from, of.at).kind(if is_untried {
        SpanKind::Internal
    } else {
        SpanKind::Client
    });
    Some(part(span, message, delivery).with("messaging.operation.type", "send"))
}

/// The provider reports how far it got.
fn arrival(of: &Glimpse, first: Uuid, message: &MessageProgress, delivery: &Delivery) -> Vec<Span> {
    let before = message.before.and_then(|before| before.state);
    let from = delivery.sent_at.unwrap_or(delivery.queued_at);
    let span = |name, to: Option<_>| {
        part(Span::under(of, first, name, &[message.id], from, to.unwrap_or(of.at)), message, delivery)
    };
    let was_there = matches!(before, Some(S::Delivered | S::Read));
    match delivery.state {
        S::Delivered => vec![span("delivered", delivery.delivered_at)],
        S::Read if was_there => vec![span("read", delivery.read_at)],
        S::Read => vec![span("delivered", delivery.delivered_at), span("read", delivery.read_at)],
        S::Failed if before == Some(S::Sent) => vec![span("delivered", None)],
        S::Queued | S::Sending | S::Sent | S::Failed | S::Unknown | S::Cancelled | S::Dead => Vec::new(),
    }
}

/// What is said of a part, whatever has become of it.
fn part(span: Span, message: &MessageProgress, delivery: &Delivery) -> Span {
    let reason = delivery.reason.map(|reason| reason.as_str());
    let span = span
        .with("messaging.message.id", message.id.to_string())
        .maybe("baton.turn.id", message.turn.map(|turn| turn.to_string()))
        .with("baton.delivery.state", delivery.state.as_str())
        .maybe("baton.delivery.reason", reason)
        .with("baton.delivery.part", i64::from(delivery.part))
        .with("baton.delivery.parts", i64::from(delivery.parts))
        .with("baton.delivery.attempts", i64::from(delivery.attempts));
    match delivery.state {
        S::Failed | S::Dead | S::Unknown => span.failed(reason.unwrap_or(delivery.state.as_str())),
        S::Queued | S::Sending | S::Sent | S::Delivered | S::Read | S::Cancelled => span,
    }
}

/// Messages that have found their end: an outcome without an answer, or an answer of which nothing is left to leave.
async fn roots(known: &mut Known, of: &Glimpse, spans: &mut Vec<Span>) {
    for message in &of.messages {
        let Some(inbound) = unanswered(message) else { continue };
        let met = known.meet(message.id, message.at);
        if !std::mem::replace(&mut met.is_told, true) {
            let root = Span::root(of, message.id, message.at, of.at);
            spans.push(
                root.with("baton.outcome", inbound.outcome.as_str())
                    .maybe("baton.outcome_reason", inbound.reason.map(|reason| reason.as_str())),
            );
        }
    }
    for (turn, state) in answers(of) {
        let messages = known.messages_of(turn).await;
        for message in &messages {
            let Some(met) = known.find(*message).await.filter(|met| !met.is_told) else { continue };
            met.is_told = true;
            let root = Span::root(of, *message, met.at, of.at)
                .with("baton.outcome", Outcome::Answered.as_str())
                .with("baton.delivery.state", state.as_str());
            spans.push(linked_to_first(root, *message, &messages));
        }
    }
}

/// The fate of a message that will have no answer, and has just found it.
fn unanswered(message: &MessageProgress) -> Option<Inbound> {
    let inbound = message.inbound?;
    let is_news = message.before.and_then(|before| before.outcome) != Some(inbound.outcome);
    match inbound.outcome {
        Outcome::Pending | Outcome::Answered => None,
        Outcome::LeftToHuman | Outcome::Ignored | Outcome::HandedOver | Outcome::Dead => {
            is_news.then_some(inbound)
        }
    }
}

/// Turns of whose answer the last part has just ended, and how. Not those of which nothing has left: what they answer
/// waits again, or has another fate.
fn answers(of: &Glimpse) -> Vec<(Uuid, S)> {
    let parts = || of.messages.iter().filter_map(|message| Some((message, message.delivery.as_ref()?)));
    let mut answers: Vec<(Uuid, S)> = Vec::new();
    for (message, delivery) in parts() {
        let Some(turn) = message.turn else { continue };
        let was_owed = matches!(message.before.and_then(|before| before.state), Some(S::Queued | S::Sending));
        let is_whole = parts().any(|(_, other)| {
            other.reply == delivery.reply && other.part == 1 && other.state == S::Cancelled
        });
        if was_owed && !message.is_reply_owed && !is_whole {
            answers.retain(|(other, _)| *other != turn);
            answers.push((turn, delivery.state));
        }
    }
    answers
}
