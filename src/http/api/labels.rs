//! Labels: words that people put on conversations, the same on every channel. Everybody reads them, an admin of all channels
//! writes them.

use actix_web::web::{Data, Path};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{Answered, page_of, shown};
use crate::{
    domain::{
        docket::Entry,
        event::EventType,
        label::{self, LABELS_MAX, Labelling, fold},
    },
    flow::back_office::labels_and_replies::{AddOutcome, ChangeOutcome, LABELS_KEPT_MAX, LabelChange},
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        idempotent,
        problem::Problem,
        read::{self, IdempotencyKey, Json, Query, WhichPage, given},
        wire::{Label, List},
    },
};

/// Longest name.
const NAME_MAX: usize = 50;

/// Longest description.
const DESCRIPTION_MAX: usize = 500;

/// Labels by name.
#[utoipa::path(get, path = "/api/v1/labels", tag = "Labels", params(WhichPage),
    responses((status = 200, body = List<Label>)))]
pub(crate) async fn list(doors: Data<Doors>, query: Query<WhichPage>) -> Answered {
    let page = query.0.page()?;
    let all = doors.labels_and_replies.labels().await?;
    let page = page_of(all, &page, |label| fold(&label.name))?;
    Ok(Answer::ok(&List::of(page, Label::from)))
}

/// One label. Its name is looked for in either case.
#[utoipa::path(get, path = "/api/v1/labels/{name}", tag = "Labels", params(("name" = String, Path,)),
    responses((status = 200, body = Label)))]
pub(crate) async fn one(doors: Data<Doors>, name: Path<String>) -> Answered {
    Ok(Answer::ok(&Label::from(called(&doors, &name).await?)))
}

/// A label to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewLabel)]
pub(crate) struct NewLabel {
    /// 1 to 50 characters; taken once, in whatever case.
    #[schema(min_length = 1, max_length = 50)]
    name: String,
    /// `#rrggbb`.
    #[schema(pattern = "^#[0-9a-fA-F]{6}$")]
    colour: Option<String>,
    /// What it is for.
    description: Option<String>,
}

/// Adds a label: an admin of all channels does. There are at most 1000; one more is 409 `too_many`. A repeat with the same `Idempotency-Key` answers as the first did.
#[utoipa::path(post, path = "/api/v1/labels", tag = "Labels", request_body = NewLabel,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    responses((status = 201, body = Label)))]
pub(crate) async fn add(
    doors: Data<Doors>,
    caller: Caller,
    once: IdempotencyKey,
    body: Json<NewLabel>,
) -> Answered {
    let request = once.of(&caller, body.hash());
    idempotent::once(&doors, request, added(&doors, &caller, body.value)).await
}

async fn added(doors: &Doors, caller: &Caller, wanted: NewLabel) -> Answered {
    only_of_all_channels(caller)?;
    let label = label::Label {
        id: Uuid::now_v7(),
        name: name("/name", wanted.name)?,
        colour: wanted.colour.map(colour).transpose()?,
        description: wanted.description.map(description).transpose()?,
        created_at: (doors.now)(),
    };
    match doors.labels_and_replies.add_label(&label).await? {
        AddOutcome::Kept => {}
        AddOutcome::Taken => return Err(taken(doors, &label.name).await),
        AddOutcome::TooMany => {
            let detail = format!("there are {LABELS_KEPT_MAX} labels, and no more than that");
            return Err(Problem::conflict("too_many", detail, None));
        }
    }
    noted(doors, caller, "added", &label.name, &label.name).await;
    Ok(Answer::created(path_of(&label.name), &Label::from(label)))
}

/// What is to be changed; what is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = LabelChange)]
pub(crate) struct LabelPatch {
    #[schema(min_length = 1, max_length = 50)]
    name: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    colour: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    description: Option<Option<String>>,
}

/// Changes a label: an admin of all channels does. By another name it is called so on every conversation that carries it.
#[utoipa::path(patch, path = "/api/v1/labels/{name}", tag = "Labels", params(("name" = String, Path,)),
    request_body = LabelPatch, responses((status = 200, body = Label)))]
pub(crate) async fn change(
    doors: Data<Doors>,
    caller: Caller,
    path: Path<String>,
    body: Json<LabelPatch>,
) -> Answered {
    only_of_all_channels(&caller)?;
    let wanted = body.value;
    let mut label = called(&doors, &path).await?;
    let was = label.name.clone();
    let change = LabelChange {
        name: wanted.name.map(|other| name("/name", other)).transpose()?,
        colour: wanted.colour.map(|other| other.map(colour).transpose()).transpose()?,
        description: wanted.description.map(|other| other.map(description).transpose()).transpose()?,
    };
    change.clone().apply(&mut label);
    match doors.labels_and_replies.change_label(label.id, &change).await? {
        ChangeOutcome::Kept => {}
        ChangeOutcome::Taken => return Err(taken(&doors, &label.name).await),
        ChangeOutcome::Gone => return Err(Problem::not_found()),
    }
    noted(&doors, &caller, "changed", &label.name, &was).await;
    // With what somebody else has changed of it meanwhile, if that can be read: it is changed in any case.
    let all = doors.labels_and_replies.labels().await.unwrap_or_default();
    let label = all.into_iter().find(|now| now.id == label.id).unwrap_or(label);
    Ok(Answer::ok(&Label::from(label)))
}

/// Removes a label, from every conversation too: an admin of all channels does.
#[utoipa::path(delete, path = "/api/v1/labels/{name}", tag = "Labels", params(("name" = String, Path,)),
    responses((status = 204)))]
pub(crate) async fn remove(doors: Data<Doors>, caller: Caller, path: Path<String>) -> Answered {
    only_of_all_channels(&caller)?;
    let label = called(&doors, &path).await?;
    if !doors.labels_and_replies.remove_label(label.id).await? {
        return Err(Problem::not_found());
    }
    noted(&doors, &caller, "removed", &label.name, &label.name).await;
    Ok(Answer::empty())
}

/// A label is on conversations that who sees some of the channels does not.
fn only_of_all_channels(caller: &Caller) -> Result<(), Problem> {
    match caller.channels {
        None => Ok(()),
        Some(_) => Err(Problem::forbidden("labels are those of all channels, and you are of some")),
    }
}

/// How a request wants the labels of conversations: the whole of them, or some put on and some taken off.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) whole: Option<Vec<String>>,
    pub(super) add: Option<Vec<String>>,
    pub(super) remove: Option<Vec<String>>,
}

impl Names {
    /// The same with the labels themselves; None: they stay as they are.
    pub(super) async fn labelling(self, doors: &Doors) -> Result<Option<Labelling>, Problem> {
        if self.whole.is_none() && self.add.is_none() && self.remove.is_none() {
            return Ok(None);
        }
        let known = doors.labels_and_replies.labels().await?;
        let named = |pointer, names| labels_of(&known, pointer, names);
        if let Some(whole) = self.whole {
            if self.add.is_some() || self.remove.is_some() {
                return Err(Problem::invalid("/labels", "goes without add_labels and remove_labels"));
            }
            return Ok(Some(Labelling::Whole(named("/labels", whole)?)));
        }
        let add = named("/add_labels", self.add.unwrap_or_default())?;
        let remove = named("/remove_labels", self.remove.unwrap_or_default())?;
        if let Some(at) = remove.iter().position(|label| add.contains(label)) {
            return Err(Problem::invalid(format!("/remove_labels/{at}"), "is to be put on as well"));
        }
        Ok(Some(Labelling::Change { add, remove }))
    }
}

fn labels_of(
    known: &[label::Label],
    pointer: &str,
    names: Vec<String>,
) -> Result<Vec<label::Label>, Problem> {
    if names.len() > LABELS_MAX {
        return Err(Problem::invalid(pointer, format!("must be at most {LABELS_MAX}")));
    }
    let label = |(at, name): (usize, &String)| {
        let found = known.iter().find(|label| fold(&label.name) == fold(name));
        found
            .cloned()
            .ok_or_else(|| Problem::invalid(format!("{pointer}/{at}"), "there is no label of that name"))
    };
    names.iter().enumerate().map(label).collect()
}

async fn called(doors: &Doors, name: &str) -> Result<label::Label, Problem> {
    let all = doors.labels_and_replies.labels().await?;
    all.into_iter().find(|label| fold(&label.name) == fold(name)).ok_or_else(Problem::not_found)
}

async fn taken(doors: &Doors, name: &str) -> Problem {
    match called(doors, name).await {
        Ok(label) => {
            let current = Some(shown(&Label::from(label)));
            Problem::conflict("name_taken", "there is a label of that name", current)
        }
        Err(problem) => problem,
    }
}

/// Tells everyone: lists show names, and whoever has loaded one knows the name before.
async fn noted(doors: &Doors, caller: &Caller, action: &'static str, name: &str, was: &str) {
    let event = Entry::of(EventType::LabelUpdated).action(action).by(&caller.actor).with("name", name);
    let event = if name == was { event } else { event.with("was", was) };
    doors.tell(event.outside("", (doors.now)())).await;
}

/// Where it is. A name may hold anything, also dots, which alone would lead elsewhere.
fn path_of(name: &str) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');
    format!("/api/v1/labels/{}", utf8_percent_encode(name, ESCAPED))
}

fn name(pointer: &str, name: String) -> Result<String, Problem> {
    let name = read::text(pointer, name, NAME_MAX)?;
    if name.chars().any(char::is_control) {
        return Err(Problem::invalid(pointer, "must be one line"));
    }
    Ok(name.trim().to_owned())
}

fn colour(colour: String) -> Result<String, Problem> {
    let digits = colour.strip_prefix('#').filter(|digits| digits.len() == 6);
    if !digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        return Err(Problem::invalid("/colour", "must be like #ff8800"));
    }
    Ok(colour.to_ascii_lowercase())
}

fn description(text: String) -> Result<String, Problem> {
    read::text("/description", text, DESCRIPTION_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_label_holds_whatever_its_name_does() {
        for (name, path) in [
            ("VIP-2", "/api/v1/labels/VIP-2"),
            ("a/b c", "/api/v1/labels/a%2Fb%20c"),
            ("Ä", "/api/v1/labels/%C3%84"),
        ] {
            assert_eq!(path_of(name), path);
        }
    }
}
