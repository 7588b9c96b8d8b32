//! What a message says. In: `messageData` of a webhook, whichever of the thirty kinds it is. Out: our kind, a text that
//! the model can read, the file, what it answers, and whether it starts a turn.

use super::{
    choices,
    part::Part,
    wording::{NAME_MAX, QUOTE_MAX, TEXT_MAX, bracketed, cut, is_blank, is_mark, with_words},
};
use crate::domain::{
    chat::ChatId,
    enclosure::{self, description},
    message::{Kind, Media, OutcomeReason, Quoted},
    reaction,
};

/// What stands in place of a text that the provider could not decrypt.
const UNDECRYPTABLE: &str = "[unreadable message]";

/// What stands in place of the address of a file that is larger than what the provider keeps.
const TOO_LARGE: &str = "{{SWE002}}";

/// Longest address and MIME type kept; a longer address is none.
const URL_MAX: usize = 2048;
const MIME_MAX: usize = 128;

/// A message, without who and when.
#[derive(Debug)]
pub(super) struct Content {
    pub kind: Kind,
    pub text: String,
    pub quoted: Option<Quoted>,
    pub media: Option<Media>,
    pub inert: Option<OutcomeReason>,
    pub is_unreadable: bool,
    /// The object that this kind of message needs is not there.
    pub is_hollow: bool,
}

impl Content {
    pub(super) fn new(kind: Kind, text: impl Into<String>) -> Self {
        let mut text = text.into();
        text.truncate(cut(&text, TEXT_MAX).len());
        Self { kind, text, quoted: None, media: None, inert: None, is_unreadable: false, is_hollow: false }
    }

    pub(super) fn hollow_unless(self, is_there: bool) -> Self {
        Self { is_hollow: !is_there, ..self }
    }

    fn inert(self, reason: OutcomeReason) -> Self {
        Self { inert: Some(reason), ..self }
    }
}

/// Reads a message of any type. `sender` says whose vote counts in a poll.
pub(super) fn content(message: Part<'_>, sender: &str) -> Content {
    let quoted = quoted(message);
    Content { quoted, ..by_type(message, sender) }
}

fn by_type(message: Part<'_>, sender: &str) -> Content {
    match message.text("typeMessage") {
        "textMessage" | "extendedTextMessage" | "quotedMessage" => text(message),
        "imageMessage" => file(message, Kind::Image),
        "videoMessage" => file(message, Kind::Video),
        "documentMessage" => file(message, Kind::Document),
        "audioMessage" => sound(message),
        "stickerMessage" => {
            Content { is_hollow: false, ..file(message, Kind::Sticker).inert(OutcomeReason::Sticker) }
        }
        "locationMessage" => location(message.part("locationMessageData")),
        "contactMessage" => contact(message.part("contactMessageData")),
        "contactsArrayMessage" => contacts(message.part("messageData")),
        "reactionMessage" => reaction(message),
        "pollMessage" => poll(message.part("pollMessageData")),
        "pollUpdateMessage" => vote(message.part("pollMessageData"), sender),
        "groupInviteMessage" => group_invite(message.part("groupInviteMessageData")),
        "buttonsMessage" => choices::buttons(message.part("buttonsMessage")),
        "listMessage" => choices::list(message.part("listMessage")),
        "templateMessage" => choices::template(message.part("templateMessage")),
        "interactiveButtons" => choices::buttons(message.part("interactiveButtons")),
        "buttonsResponseMessage"
        | "listResponseMessage"
        | "templateButtonsReplyMessage"
        | "templateButtonReplyMessage"
        | "interactiveButtonsReply"
        | "interactiveButtonReply" => answer(message),
        // These change another message; whoever shows them by themselves shows the new words.
        "editedMessage" => Content::new(Kind::Text, words(message)),
        "deletedMessage" => Content::new(Kind::Unsupported, "[deleted message]"),
        // A body that lost its type but kept its words.
        "" if !words(message).is_empty() => text(message),
        "" => Content::new(Kind::Unsupported, "[unsupported message]").hollow_unless(message.is_there()),
        _ if message.part("fileMessageData").is_there() => unknown_file(message),
        other => Content::new(Kind::Unsupported, bracketed("unsupported message", &[cut(other, 64)])),
    }
}

/// The writer's own words, without any description: what an echo is matched by. The provider has them in one of several
/// places for the same message, so all are looked at.
pub(super) fn words(message: Part<'_>) -> &str {
    let places = [
        message.part("extendedTextMessageData").text("text"),
        message.part("textMessageData").text("textMessage"),
        message.part("fileMessageData").text("caption"),
        message.part("editedMessageData").first_text(&["textMessage", "caption"]),
    ];
    let words = places.into_iter().find(|words| !words.is_empty()).unwrap_or_default();
    cut(words, TEXT_MAX)
}

/// A text in the contact's own words: blank and undecryptable ones start no turn.
fn text(message: Part<'_>) -> Content {
    let extended = message.part("extendedTextMessageData");
    let words = words(message);
    if is_mark(words) {
        let content = Content::new(Kind::Text, UNDECRYPTABLE).inert(OutcomeReason::Undecryptable);
        return Content { is_unreadable: true, ..content };
    }
    let is_address = words.starts_with("http") && !words.trim().contains(char::is_whitespace);
    let content = match cut(extended.text("title").trim(), NAME_MAX) {
        title if is_address && !title.is_empty() => {
            Content::new(Kind::Text, format!("{} [link: {title}]", words.trim()))
        }
        _ => spoken(words),
    };
    content.hollow_unless(extended.is_there() || message.part("textMessageData").is_there())
}

fn spoken(words: &str) -> Content {
    let content = Content::new(Kind::Text, words);
    if is_blank(words) { content.inert(OutcomeReason::Empty) } else { content }
}

fn file(message: Part<'_>, kind: Kind) -> Content {
    let data = message.part("fileMessageData");
    let media = media(data);
    let words = if is_blank(&media.caption) { "" } else { media.caption.as_str() };
    let text = description(kind, &media.file_name, words);
    Content { media: Some(media), ..Content::new(kind, text).hollow_unless(data.is_there()) }
}

/// A file under a name that we do not know, as a round video has: what it is, its type says.
fn unknown_file(message: Part<'_>) -> Content {
    let mime_type = message.part("fileMessageData").text("mimeType");
    match mime_type.split_once('/').map(|(what, _)| what) {
        Some("image") => file(message, Kind::Image),
        Some("video") => file(message, Kind::Video),
        Some("audio") => sound(message),
        _ => file(message, Kind::Document),
    }
}

/// Voice notes carry no flag; they are ogg, where sound files are anything else. Neither can be read without words.
fn sound(message: Part<'_>) -> Content {
    let mime_type = message.part("fileMessageData").text("mimeType");
    let is_note = mime_type.is_empty() || mime_type.contains("ogg") || mime_type.contains("opus");
    let content = file(message, if is_note { Kind::Voice } else { Kind::Audio });
    let is_unreadable = content.media.as_ref().is_none_or(|media| is_blank(&media.caption));
    Content { is_unreadable, ..content }
}

fn media(data: Part<'_>) -> Media {
    let text = |name, max| {
        let text = data.text(name);
        if is_mark(text) { String::new() } else { cut(text, max).to_owned() }
    };
    let url = text("downloadUrl", usize::MAX);
    Media {
        is_too_large: data.text("downloadUrl").trim() == TOO_LARGE,
        url: if url.len() > URL_MAX { String::new() } else { url },
        mime_type: text("mimeType", MIME_MAX),
        file_name: enclosure::plain(&text("fileName", usize::MAX)),
        caption: text("caption", TEXT_MAX),
        transcript: String::new(),
        size: None,
        is_kept: false,
    }
}

fn location(data: Part<'_>) -> Content {
    let point = match (data.number("latitude"), data.number("longitude")) {
        (Some(latitude), Some(longitude)) => format!("{latitude},{longitude}"),
        _ => String::new(),
    };
    let text = bracketed("location", &[data.text("nameLocation"), data.text("address"), &point]);
    Content::new(Kind::Location, text).hollow_unless(data.is_there())
}

fn contact(data: Part<'_>) -> Content {
    let mut pieces = vec![data.text("displayName")];
    pieces.extend(phones(data.text("vcard")));
    Content::new(Kind::Contact, bracketed("contact", &pieces)).hollow_unless(data.is_there())
}

/// The numbers of a vCard: what follows the colon of each `TEL` line, grouped (`item1.TEL`) or not.
fn phones(vcard: &str) -> impl Iterator<Item = &str> {
    vcard.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        let name = name.split(';').next()?;
        name.rsplit('.').next()?.eq_ignore_ascii_case("tel").then_some(value)
    })
}

fn contacts(data: Part<'_>) -> Content {
    let names: Vec<&str> = data.list("contacts").map(|contact| contact.text("displayName")).collect();
    Content::new(Kind::Contact, bracketed("contacts", &names)).hollow_unless(data.is_there())
}

fn reaction(message: Part<'_>) -> Content {
    let emoji = Some(words(message)).filter(|emoji| !is_blank(emoji)).unwrap_or_default();
    let text = reaction::text_of(cut(emoji, 16), &quote_text(message.part("quotedMessage")));
    Content::new(Kind::Reaction, text).inert(OutcomeReason::Reaction)
}

fn poll(data: Part<'_>) -> Content {
    let options: Vec<&str> = data.list("options").map(|option| option.text("optionName")).collect();
    let text = format!("[poll: {}; {}]", data.text("name"), options.join(", "));
    Content::new(Kind::Poll, text).hollow_unless(data.is_there())
}

/// Each report carries the whole tally; only what this person chose is news.
fn vote(data: Part<'_>, sender: &str) -> Content {
    let sender = ChatId::parse(sender);
    let voters = |vote: Part<'_>| -> Vec<ChatId> {
        vote.list("optionVoters").filter_map(|voter| ChatId::parse(voter.as_text())).collect()
    };
    let is_sender = |voter: &ChatId| sender.as_ref() == Some(voter);
    let chosen: Vec<&str> = data
        .list("votes")
        .filter(|vote| voters(*vote).iter().any(is_sender))
        .map(|vote| vote.text("optionName"))
        .collect();
    // Under the other kind of id it may be anybody's.
    let may_be_sender = |voter: &ChatId| sender.as_ref().is_some_and(|it| it.may_be_same_person_as(voter));
    let may_be_theirs = data.list("votes").any(|vote| voters(vote).iter().any(may_be_sender));
    let text = if chosen.is_empty() && !may_be_theirs {
        "[poll vote withdrawn]".to_owned()
    } else {
        bracketed("poll vote", &chosen)
    };
    Content::new(Kind::PollVote, text).inert(OutcomeReason::PollVote)
}

fn group_invite(data: Part<'_>) -> Content {
    let text = with_words(bracketed("group invite", &[data.text("groupName")]), data.text("caption"));
    Content::new(Kind::GroupInvite, text).hollow_unless(data.is_there())
}

/// The contact chose one of the things offered: its label is what they say.
fn answer(message: Part<'_>) -> Content {
    let replies = choices::replies(message);
    let is_there = replies.iter().any(|reply| reply.is_there());
    spoken(choices::chosen(&replies)).hollow_unless(is_there)
}

fn quoted(message: Part<'_>) -> Option<Quoted> {
    let data = message.part("quotedMessage");
    let places = [data, message.part("extendedTextMessageData"), message.part("pollMessageData")];
    let ids = places.into_iter().chain(choices::replies(message)).map(|place| place.text("stanzaId").trim());
    let id = ids.into_iter().find(|id| !id.is_empty() && id.len() <= NAME_MAX)?;
    Some(Quoted { provider_message_id: id.to_owned(), text: quote_text(data) })
}

/// A few words of another message. Its content lies flat beside its type, unlike that of a message itself.
fn quote_text(data: Part<'_>) -> String {
    let words = match data.first_text(&["textMessage", "text", "caption"]) {
        "" => data.part("extendedTextMessage").text("text"),
        words => words,
    };
    let words = if is_mark(words) { "" } else { cut(words, QUOTE_MAX) };
    match data.text("typeMessage").strip_suffix("Message") {
        Some(what @ ("image" | "video" | "document" | "sticker" | "location" | "contact" | "poll")) => {
            with_words(bracketed(what, &[]), words)
        }
        Some("audio") => with_words(bracketed("voice message", &[]), words),
        _ => words.to_owned(),
    }
}
