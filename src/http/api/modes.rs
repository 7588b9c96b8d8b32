//! Who answers: switching between AI and HUMAN.

use actix_web::web::{Data, Path};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{Answered, chat_key, key, told};
use crate::{
    domain::{mode::Mode, time::Time},
    flow::{desk::TEXT_MAX, ledger::Key, mode_switch},
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        problem::Problem,
        read::{self, Json, given},
        wire::{At, Id, ModeWord, ReasonWord, Receipt},
    },
};

/// Who shall answer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Switch {
    mode: ModeWord,
    /// The reason to record, in place of the usual one.
    reason: Option<ReasonWord>,
    /// With HUMAN: until then; null: until somebody switches. Left out: as it was.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<At>)]
    until: Option<Option<At>>,
    /// Only if the version is this.
    expected_version: Option<i64>,
    /// With AI: one answer to everything since our side last spoke.
    #[serde(default)]
    answer_now: bool,
    /// A colleague's words for the assistant's next turn, kept as a note; with HUMAN for the turn after the person.
    #[schema(min_length = 1, max_length = 20_000)]
    note: Option<String>,
    /// Wait at most this long (ms) for what is being sent.
    settle_ms: Option<i64>,
}

impl Switch {
    pub(super) fn request(
        self,
        caller: &Caller,
        now: Time,
        settle_ms_max: i64,
    ) -> Result<(Mode, mode_switch::Request), Problem> {
        let to = self.mode.0;
        if let Some(Some(until)) = self.until {
            if to == Mode::Ai {
                return Err(Problem::invalid("/until", "goes with HUMAN only"));
            }
            if until.0 <= now {
                return Err(Problem::invalid("/until", "must be in the future"));
            }
        }
        if self.settle_ms.is_some_and(|ms| !(0..=settle_ms_max).contains(&ms)) {
            return Err(Problem::invalid("/settle_ms", format!("must be 0 to {settle_ms_max}")));
        }
        if to == Mode::Human && self.answer_now {
            return Err(Problem::invalid("/answer_now", "goes with AI only"));
        }
        let request = mode_switch::Request {
            id: Uuid::now_v7().to_string(),
            who: caller.who(),
            expected_version: self.expected_version,
            until: self.until.map(|until| until.map(|at| at.0)),
            answer_now: self.answer_now,
            note: self.note.map(|note| read::text("/note", note, TEXT_MAX)).transpose()?,
            settle_ms: self.settle_ms,
            reason: self.reason.map(|word| word.0),
        };
        Ok((to, request))
    }
}

/// Switches, and answers when it is settled.
#[utoipa::path(put, path = "/api/v1/conversations/{id}/mode", tag = "Mode", params(("id" = Id, Path,)),
    request_body = Switch, responses((status = 200, body = Receipt)))]
pub(crate) async fn switch(doors: Data<Doors>, caller: Caller, id: Path<Id>, body: Json<Switch>) -> Answered {
    let key = key(&doors, &caller, id.0).await?;
    switched(&doors, &caller, key, body.value).await
}

/// The same by chat, also before its first message.
#[utoipa::path(put, path = "/api/v1/channels/{channel}/chats/{chat_id}/mode", tag = "Mode",
    params(("channel" = String, Path,), ("chat_id" = String, Path,)),
    request_body = Switch, responses((status = 200, body = Receipt)))]
pub(crate) async fn switch_chat(
    doors: Data<Doors>,
    caller: Caller,
    path: Path<(String, String)>,
    body: Json<Switch>,
) -> Answered {
    let (channel, chat) = path.into_inner();
    let key = chat_key(&doors, &caller, channel, &chat).await?;
    switched(&doors, &caller, key, body.value).await
}

async fn switched(doors: &Doors, caller: &Caller, key: Key, wanted: Switch) -> Answered {
    let (to, request) = wanted.request(caller, (doors.now)(), doors.settle_ms)?;
    match doors.mode_switch.switch(key.clone(), to, request).await {
        Ok(receipt) => {
            let names = doors.directory.names().await;
            Ok(Answer::ok(&Receipt::of(receipt, &names)))
        }
        Err(refusal) => Err(told(doors, &key, refusal).await),
    }
}
