//! The export: all messages as one file, of comma-separated values or of lines of JSON, written page by page as the client
//! takes it.

use std::{sync::Arc, time::Duration};

use actix_web::{http::Method, web::Data};
use bytes::Bytes;
use serde::Deserialize;
use tokio::sync::mpsc;
use utoipa::IntoParams;
use uuid::Uuid;

use super::{Answered, seen};
use crate::{
    flow::{
        archive::{Exchanged, MessageFilter, Page, PageOf},
        back_office::audit::Deed,
        ledger::Error,
        media::files::Piece,
    },
    http::{
        answer::{Answer, to_json},
        auth::Caller,
        csv,
        doors::Doors,
        problem::Problem,
        read::Query,
        wire::{At, Beside, Id, Message},
    },
};

/// Messages of one reading.
const PAGE: usize = 200;

/// Pages on their way to one client, so that the next is read while it takes the last.
const PAGES_AHEAD: usize = 2;

/// A client that takes nothing for this long is let go.
const PATIENCE: Duration = Duration::from_secs(30);

/// The first row.
const COLUMNS: [&str; 13] = [
    "id",
    "conversation_id",
    "channel",
    "chat_id",
    "contact_name",
    "seq",
    "at",
    "author",
    "origin",
    "kind",
    "text",
    "outcome",
    "delivery_state",
];

/// Which messages.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportQuery {
    /// From this time on.
    from: Option<At>,
    /// Before this time.
    to: Option<At>,
    conversation_id: Option<Id>,
}

/// How they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    /// Rows under a first one that names the columns.
    Csv,
    /// As the API shows them, one a line.
    Jsonl,
}

/// All messages, oldest first, as comma-separated values (RFC 4180). A cell that a spreadsheet would run begins with an
/// apostrophe.
#[utoipa::path(get, path = "/api/v1/export/messages.csv", tag = "Messages", params(ExportQuery),
    responses((status = 200, body = String, content_type = "text/csv")))]
pub(crate) async fn messages(
    doors: Data<Doors>,
    caller: Caller,
    method: Method,
    query: Query<ExportQuery>,
) -> Answered {
    let pieces = begin(doors, caller, &method, query.0, Written::Csv).await?;
    Ok(Answer::file("text/csv; charset=utf-8", "messages.csv", pieces))
}

/// All messages, oldest first, each a line of JSON in the shape in which the API shows one. Reactions have lines of their own
/// besides.
#[utoipa::path(get, path = "/api/v1/export/messages.jsonl", tag = "Messages", params(ExportQuery),
    responses((status = 200, body = Message, content_type = "application/jsonl")))]
pub(crate) async fn lines(
    doors: Data<Doors>,
    caller: Caller,
    method: Method,
    query: Query<ExportQuery>,
) -> Answered {
    let pieces = begin(doors, caller, &method, query.0, Written::Jsonl).await?;
    Ok(Answer::file("application/jsonl; charset=utf-8", "messages.jsonl", pieces))
}

async fn begin(
    doors: Data<Doors>,
    caller: Caller,
    method: &Method,
    which: ExportQuery,
    written: Written,
) -> Result<mpsc::Receiver<Piece>, Problem> {
    if let Some(id) = &which.conversation_id {
        seen(&doors, &caller, id.0).await?;
    }
    let filter = MessageFilter {
        channels: caller.within(None),
        conversation: which.conversation_id.map(|id| id.0),
        since: which.from.map(|at| at.0),
        until: which.to.map(|at| at.0),
    };
    // Read before the answer begins: a store that is away is told by the status.
    let first = doors.archive.exchanged(&filter, &PageOf { limit: PAGE, cursor: None }).await?;
    let (out, pieces) = mpsc::channel(PAGES_AHEAD);
    if *method == Method::HEAD {
        send(&doors, &out, Piece::End).await;
        return Ok(pieces);
    }
    let deed = doors
        .deed(&caller, Deed::Exported)
        .with("conversation_id", which.conversation_id.map(|id| id.0.to_string()));
    doors.note(deed).await;
    let main = doors.main.clone();
    main.spawn(write(doors.into_inner(), caller, filter, written, first, out));
    Ok(pieces)
}

/// Sends page after page for as long as the client takes them and is who they were.
async fn write(
    doors: Arc<Doors>,
    caller: Caller,
    filter: MessageFilter,
    written: Written,
    first: Page<Exchanged>,
    out: mpsc::Sender<Piece>,
) {
    let mut text = String::new();
    if written == Written::Csv {
        csv::push_row(&mut text, COLUMNS);
    }
    let mut page = first;
    loop {
        let part = match written {
            Written::Csv => {
                page.items.iter().for_each(|it| push(&mut text, it));
                Bytes::from(std::mem::take(&mut text))
            }
            Written::Jsonl => match as_lines(&doors, page.items).await {
                Ok(lines) => lines,
                Err(error) => return ends_early(&error),
            },
        };
        if !send(&doors, &out, Piece::Part(part)).await {
            return;
        }
        let Some(cursor) = page.next else { break };
        if !doors.auth.still_knows(&caller).await {
            return;
        }
        page = match doors.archive.exchanged(&filter, &PageOf { limit: PAGE, cursor: Some(cursor) }).await {
            Ok(page) => page,
            Err(error) => return ends_early(&error),
        };
    }
    send(&doors, &out, Piece::End).await;
}

fn ends_early(error: &Error) {
    tracing::warn!(error = error.cause(), "an export ends early");
}

/// What a page quotes, and reactions to it, are found at once.
async fn as_lines(doors: &Doors, page: Vec<Exchanged>) -> Result<Bytes, Error> {
    let names = doors.directory.names().await;
    let ids: Vec<Uuid> = page.iter().map(|it| it.placed.message.id).collect();
    let beside = Beside::of(doors.archive.beside(&ids).await?);
    let mut lines = Vec::new();
    for Exchanged { placed, .. } in page {
        let line = Message::of(placed.conversation, placed.message, &names, &beside);
        lines.extend_from_slice(&to_json(&line));
        lines.push(b'\n');
    }
    Ok(lines.into())
}

/// False if the client takes no more, or the process stops.
async fn send(doors: &Doors, out: &mpsc::Sender<Piece>, piece: Piece) -> bool {
    tokio::select! {
        biased;
        () = doors.stopping.cancelled() => false,
        sent = out.send_timeout(piece, PATIENCE) => sent.is_ok(),
    }
}

fn push(text: &mut String, Exchanged { placed, contact_name }: &Exchanged) {
    let message = &placed.message;
    let [id, conversation] = [message.id, placed.conversation].map(|id| id.to_string());
    let (seq, at) = (message.seq.to_string(), message.at.to_string());
    let cells = [
        id.as_str(),
        &conversation,
        &placed.channel,
        placed.chat.as_str(),
        contact_name.as_deref().unwrap_or_default(),
        &seq,
        &at,
        message.author.as_str(),
        message.origin.as_str(),
        message.kind.as_str(),
        &message.text,
        message.inbound.map_or("", |inbound| inbound.outcome.as_str()),
        message.delivery.as_ref().map_or("", |delivery| delivery.state.as_str()),
    ];
    csv::push_row(text, cells);
}
