//! The file of a message, fetched through Baton: a browser never speaks to where the provider keeps it.

use actix_web::web::{Data, Path};

use super::{Answered, seen_message};
use crate::http::{
    answer::{Answer, Attached},
    auth::Caller,
    doors::Doors,
    problem::Problem,
    read::RangeHeaders,
    wire::Id,
};

/// The file of a message, or the part of it that `Range` names.
///
/// Pictures, sound and film that a browser can only show are shown; everything else is saved. What a file is, its first
/// bytes say. 404: the message has no file · 409 `host_not_allowed` · 410 `gone`: the provider no longer has it ·
/// 413 `too_large` · 416 · 503: the provider failed, or was too slow.
#[utoipa::path(get, path = "/api/v1/messages/{id}/media", tag = "Messages",
    params(("id" = Id, Path,), ("Range" = Option<String>, Header, description = "one part: `bytes=0-1023`")),
    responses(
        (status = 200, content((Vec<u8> = "application/octet-stream"))),
        (status = 206, content((Vec<u8> = "application/octet-stream"))),
    ))]
pub(crate) async fn fetch(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    wanted: RangeHeaders,
) -> Answered {
    let placed = seen_message(&doors, &caller, id.0).await?;
    let Some(media) = &placed.message.media else { return Err(Problem::not_found()) };
    let file = doors.fetching.fetch(&placed, wanted.range).await?;
    Ok(Answer::attached(Attached {
        shown_as: file.looks.shown_as(&media.mime_type),
        name: media.file_name.clone(),
        size: file.size,
        part: file.part,
        length: file.length(),
        pieces: (!wanted.is_head).then_some(file.pieces),
    }))
}
