//! Messages that offer something to choose, and the answers to them. Offers usually come from another bot. In: the object
//! named after the type. Out: the text and its options in one line, or the label that was chosen.

use super::{
    content::Content,
    part::Part,
    wording::{bracketed, is_blank, with_words},
};
use crate::domain::message::Kind;

pub(super) fn buttons(data: Part<'_>) -> Content {
    let options: Vec<&str> = data.list("buttons").map(|button| button.text("buttonText")).collect();
    offer(Kind::Buttons, data, &options)
}

pub(super) fn list(data: Part<'_>) -> Content {
    let rows = data.list("sections").flat_map(|section| section.list("rows"));
    let options: Vec<&str> = rows.map(|row| row.text("title")).collect();
    offer(Kind::List, data, &options)
}

pub(super) fn template(data: Part<'_>) -> Content {
    let options: Vec<&str> = data.list("buttons").filter_map(label).collect();
    offer(Kind::Buttons, data, &options)
}

fn label(button: Part<'_>) -> Option<&str> {
    let kinds = ["urlButton", "callButton", "quickReplyButton"];
    kinds
        .into_iter()
        .map(|kind| button.part(kind))
        .find(|part| part.is_there())
        .map(|part| part.text("displayText"))
}

fn offer(kind: Kind, data: Part<'_>, options: &[&str]) -> Content {
    // A title of which nothing is seen could be so long that what follows is cut off.
    let parts = [data.first_text(&["title", "titleText"]), data.text("contentText")];
    let parts: Vec<&str> = parts.into_iter().map(str::trim).filter(|part| !is_blank(part)).collect();
    let words = parts.join("\n");
    let text = match options {
        [] if words.is_empty() => bracketed(kind.as_str(), &[]),
        [] => words,
        options => with_words(words, &bracketed("options", options)).trim_start().to_owned(),
    };
    Content::new(kind, text).hollow_unless(data.is_there())
}

/// The objects in which an answer may lie, by any of the names seen.
pub(super) fn replies(message: Part<'_>) -> [Part<'_>; 5] {
    [
        message.part("buttonsResponseMessage"),
        message.part("listResponseMessage"),
        message.part("templateButtonReplyMessage"),
        message.part("interactiveButtonsReply"),
        message.part("interactiveButtonReply"),
    ]
}

/// The label chosen.
pub(super) fn chosen<'a>(replies: &[Part<'a>]) -> &'a str {
    let names = ["selectedButtonText", "selectedDisplayText", "title", "contentText"];
    replies.iter().map(|reply| reply.first_text(&names)).find(|label| !label.is_empty()).unwrap_or_default()
}
