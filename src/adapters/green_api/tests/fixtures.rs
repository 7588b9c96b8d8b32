//! Every body that the gateway is known to post, and what it says.

use std::{collections::BTreeMap, fs, path::PathBuf};

use super::{mira, read};
use crate::{
    domain::message::{DeliveryReason, DeliveryState, Kind, OutcomeReason},
    flow::{
        provider::{Arrival, Incoming},
        reconcile::Copy,
    },
};

fn bodies() -> BTreeMap<String, Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/webhooks");
    fs::read_dir(folder)
        .expect("the folder of the fixtures")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| {
            (
                path.file_stem().expect("a name").to_string_lossy().into_owned(),
                fs::read(&path).expect("a file"),
            )
        })
        .collect()
}

fn fixture(name: &str) -> Incoming {
    let bodies = bodies();
    read(bodies.get(name).unwrap_or_else(|| panic!("no fixture {name}")))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn message(name: &str) -> Arrival {
    match fixture(name) {
        Incoming::Message(arrival) => arrival,
        other => panic!("{name} is {other:?}"),
    }
}

fn text_of(name: &str) -> String {
    message(name).text
}

/// The class of an event in a word or two.
fn class(incoming: &Incoming) -> &'static str {
    match incoming {
        Incoming::Message(arrival) => arrival.inert.map_or("message", |reason| reason.as_str()),
        Incoming::Edit(_) => "edit",
        Incoming::Deletion(_) => "deletion",
        Incoming::Phone(_) => "phone",
        Incoming::OwnSign(..) => "own sign",
        Incoming::OwnEdit(..) => "own edit",
        Incoming::OwnDeletion(..) => "own deletion",
        Incoming::Echo(_) => "echo",
        Incoming::Status(_) => "status",
        Incoming::State(_) => "state",
        Incoming::Quota(_) => "quota",
        Incoming::Ignored(_) => "ignored",
        Incoming::OtherInstance => "other instance",
    }
}

/// The expected class by the beginning of a file's name; the longest that fits holds.
const CLASSES: [(&str, &str); 20] = [
    ("in_", "message"),
    ("in_text_empty", "empty"),
    ("in_text_swe001", "undecryptable"),
    ("in_sticker", "sticker"),
    ("in_reaction", "reaction"),
    ("in_poll_update", "poll_vote"),
    ("in_edited", "edit"),
    ("in_deleted", "deletion"),
    ("out_phone_", "phone"),
    ("out_phone_reaction", "own sign"),
    ("out_phone_deleted", "own deletion"),
    ("out_api_", "echo"),
    ("status_", "status"),
    ("status_instance_changed", "ignored"),
    ("state_", "state"),
    ("quota_", "quota"),
    ("call_", "call"),
    ("outgoing_call", "own sign"),
    ("device_", "ignored"),
    ("incoming_block", "ignored"),
];

#[test]
fn every_known_body_is_of_its_class() {
    let bodies = bodies();
    assert_eq!(bodies.len(), 68);
    for (name, body) in &bodies {
        let fitting = CLASSES.iter().filter(|(beginning, _)| name.starts_with(beginning));
        let (_, expected) =
            fitting.max_by_key(|(beginning, _)| beginning.len()).expect("a class for each file");
        let incoming = read(body).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(class(&incoming), *expected, "{name}: {incoming:?}");
    }
}

#[test]
fn the_model_reads_each_kind_of_message_so() {
    let table = [
        ("in_text_plain", Kind::Text, "Hi, is the blue tea bowl back in stock?"),
        ("in_extended_link", Kind::Text, "Is this the one? https://shop.lumenbay.example/p/tea-bowl-blue"),
        ("in_extended_ad_click", Kind::Text, "Hello! Can I get more info on this?"),
        ("in_quoted_text", Kind::Text, "Yes, that one please"),
        ("in_image_caption", Kind::Image, "[image] Arrived broken 😞 order 4512"),
        ("in_image_no_caption", Kind::Image, "[image]"),
        ("in_audio_voice_note", Kind::Voice, "[voice message]"),
        ("in_sticker", Kind::Sticker, "[sticker]"),
        (
            "in_location",
            Kind::Location,
            "[location: Kallang Riverside Park, Kampong Bugis, Singapore, 1.30655,103.86921]",
        ),
        ("in_contact", Kind::Contact, "[contact: Rafa Delgado, +65 8000 0021]"),
        ("in_contacts_array", Kind::Contact, "[contacts: Rafa Delgado, Nell Fischer]"),
        ("in_reaction", Kind::Reaction, "[reacted 👍]"),
        ("in_poll", Kind::Poll, "[poll: Which glaze for the new batch?; Celadon, Tenmoku, Shino]"),
        ("in_poll_update", Kind::PollVote, "[poll vote: Morning]"),
        ("in_group_invite", Kind::GroupInvite, "[group invite: Kiln club] Join our kiln club group"),
        ("in_buttons", Kind::Buttons, "Choose a branch [options: North, South]"),
        ("in_list", Kind::List, "Clay\nPick a clay body [options: Buff, Black]"),
        ("in_template", Kind::Buttons, "Your invoice 220 is due [options: Pay, Call, Later]"),
        (
            "in_interactive_buttons",
            Kind::Buttons,
            "Pickup code\nShow this at the counter [options: Copy code, Call shop, Map]",
        ),
        ("in_list_response", Kind::Text, "Refund status"),
        ("in_template_buttons_reply", Kind::Text, "Yes, confirm"),
        ("in_interactive_buttons_reply", Kind::Text, "How was the visit?"),
        ("in_text_swe001_undecryptable", Kind::Text, "[unreadable message]"),
        ("call_offer", Kind::Call, "[call]"),
        ("call_declined_video", Kind::Call, "[video call declined]"),
    ];
    for (name, kind, text) in table {
        let arrival = message(name);
        assert_eq!((arrival.kind, arrival.text.as_str()), (kind, text), "{name}");
    }
    assert!(text_of("in_document_pdf").starts_with("[document: "));
    assert_eq!(text_of("in_text_very_long").chars().count(), 19_999);
    assert!(text_of("in_text_multiline").contains('\n'));
}

#[test]
fn a_message_brings_its_id_its_moment_and_its_writers_name() {
    let arrival = message("in_text_plain");
    assert_eq!(arrival.chat.as_str(), "6580000001@c.us");
    assert_eq!(arrival.id.as_deref(), Some("0A1B2C3D4E5F60718293A4B5C6D7E8F9"));
    assert_eq!(arrival.at.map(|at| at.0), Some(1_767_600_011_000));
    assert_eq!(arrival.contact_name.as_deref(), Some("Mira Okonjo"));
    assert_eq!((arrival.sender, arrival.alias, arrival.is_unreadable), (None, None, false));
    assert_eq!(arrival.fingerprint.len(), 64);
    assert_eq!(message("in_extended_ad_click").contact_name.as_deref(), Some("Jun Castellan"));
}

#[test]
fn in_a_group_the_writer_is_named_and_the_contact_is_the_group() {
    let arrival = message("in_text_group");
    assert_eq!(arrival.contact_name.as_deref(), Some("Lumen Bay wholesale"));
    let sender = arrival.sender.expect("a writer");
    assert_eq!((sender.id.as_str(), sender.name.as_str()), ("6580000003@c.us", "Tove Abara"));
    assert_eq!(arrival.inert, None);
}

#[test]
fn a_quote_goes_beside_the_text() {
    let table = [
        (
            "in_quoted_text",
            "BAE50C1D2E3F4A5B",
            "We have two sizes: 280 ml and 350 ml. Which one would you like?",
        ),
        ("in_quoted_image", "BAE5A1A2A3A4A5A6", "[image] Floor vase, 62 cm"),
        ("in_image_reply_quoting_text", "BAE5B1B2B3B4B5B6", "Could you send us a photo of the damage?"),
        ("in_list_response", "BAE5E1E2E3E4E5E6", ""),
        ("in_reaction", "BAE50C1D2E3F4A5B", ""),
    ];
    for (name, id, text) in table {
        let quoted = message(name).quoted.unwrap_or_else(|| panic!("{name} quotes"));
        assert_eq!((quoted.provider_message_id.as_str(), quoted.text.as_str()), (id, text), "{name}");
    }
    assert_eq!(message("in_text_plain").quoted, None);
}

#[test]
fn a_file_comes_with_its_address_type_and_caption() {
    let media = message("in_image_caption").media.expect("a file");
    assert!(media.url.starts_with("https://media.greenapi.example/"));
    assert_eq!((media.mime_type.as_str(), media.file_name.as_str()), ("image/jpeg", "photo1.jpg"));
    assert_eq!(media.caption, "Arrived broken 😞 order 4512");
}

#[test]
fn what_nobody_can_read_calls_for_a_person() {
    let voice = message("in_audio_voice_note");
    assert_eq!((voice.inert, voice.is_unreadable), (None, true));
    let undecryptable = message("in_text_swe001_undecryptable");
    assert_eq!(
        (undecryptable.inert, undecryptable.is_unreadable),
        (Some(OutcomeReason::Undecryptable), true)
    );
}

#[test]
fn edits_and_deletions_name_the_message_they_change() {
    let Incoming::Edit(edit) = fixture("in_edited_text") else { panic!("an edit") };
    assert_eq!(edit.of, "0A1B2C3D4E5F60718293A4B5C6D7E8F9");
    assert_eq!(edit.text, "Hi, is the GREEN tea bowl back in stock?");
    let Incoming::Deletion(deletion) = fixture("in_deleted") else { panic!("a deletion") };
    assert_eq!((deletion.of, deletion.text), (edit.of, String::new()));
}

#[test]
fn what_our_side_sent_keeps_its_own_words() {
    let Incoming::Phone(phone) = fixture("out_phone_text") else { panic!("a message by phone") };
    assert_eq!(phone.text, "Hi Mira, this is Sena from the shop, let me take a look myself.");
    assert_eq!(
        (phone.chat.as_str(), phone.contact_name.as_deref()),
        ("6580000001@c.us", Some("Mira Okonjo"))
    );
    assert_eq!(phone.sender.map(|sender| sender.name).as_deref(), Some("Lumen Bay Ceramics"));
    let Incoming::Echo(echo) = fixture("out_api_text_echo") else { panic!("an echo") };
    assert_eq!(echo.text, "We have two sizes: 280 ml and 350 ml. Which one would you like?");
    assert_eq!(echo.id.as_deref(), Some("BAE50C1D2E3F4A5B"));
    let Incoming::Echo(file) = fixture("out_api_file_echo") else { panic!("an echo") };
    assert_eq!((file.kind, file.text.as_str()), (Kind::Document, "Our current price list"));
    let Incoming::OwnDeletion(deleted, Copy::Phone) = fixture("out_phone_deleted") else {
        panic!("a deletion by phone")
    };
    assert_eq!(deleted.chat.as_str(), "6580000001@c.us");
}

#[test]
fn each_status_says_how_far_a_message_got() {
    use {DeliveryReason as R, DeliveryState as S};
    let table = [
        ("status_sent", Some(S::Sent), None),
        ("status_delivered", Some(S::Delivered), None),
        ("status_read", Some(S::Read), None),
        ("status_failed", Some(S::Failed), Some(R::Refused)),
        ("status_failed_with_description", Some(S::Failed), Some(R::Refused)),
        ("status_no_account", Some(S::Failed), Some(R::NoAccount)),
        ("status_not_in_group", Some(S::Failed), Some(R::Refused)),
        ("status_yellow_card", Some(S::Failed), Some(R::Refused)),
        ("status_phone_sent_read", Some(S::Read), None),
    ];
    for (name, state, reason) in table {
        let Incoming::Status(status) = fixture(name) else { panic!("{name} is a status") };
        assert_eq!((status.state, status.reason), (state, reason), "{name}");
        assert!(status.chat.is_some() && !status.id.is_empty(), "{name}");
    }
    let Incoming::Status(status) = fixture("status_failed_with_description") else { panic!("a status") };
    assert_eq!(status.detail, "failed", "what it says of it may name people");
}

#[test]
fn states_and_quotas_are_the_gateways_own_words() {
    assert_eq!(fixture("state_not_authorized"), Incoming::State("notAuthorized".to_owned()));
    let Incoming::Quota(quota) = fixture("quota_exceeded") else { panic!("a quota") };
    assert_eq!(quota, "CORRESPONDENTS_QUOTA_EXCEEDED", "not whom it still allows");
}

#[test]
fn each_step_of_a_call_has_an_id_of_its_own() {
    assert_eq!(message("call_offer").id.as_deref(), Some("88D4D01879D184688DD5F73E612EF9A3:offer"));
}

#[test]
fn what_the_business_does_on_the_phone_besides_writing_is_read() {
    let Incoming::OwnSign(call, is_answered) = fixture("outgoing_call") else { panic!("a call") };
    assert_eq!((call.kind, call.text.as_str(), call.inert), (Kind::Call, "[call ended]", None));
    assert_eq!((call.chat, is_answered), (mira(), true), "one of those called has answered");
    assert_eq!(call.id.as_deref(), Some("E304CF4CC92775B919F7EEC677ECA37F:hungUp"));
    let Incoming::OwnSign(reaction, is_answered) = fixture("out_phone_reaction") else {
        panic!("a reaction")
    };
    assert_eq!((reaction.kind, reaction.text.as_str(), is_answered), (Kind::Reaction, "[reacted ❤️]", false));
    let quoted = reaction.quoted.expect("what it reacts to");
    assert_eq!(quoted.provider_message_id, "0A1B2C3D4E5F60718293A4B5C6D7E8F9");
}
