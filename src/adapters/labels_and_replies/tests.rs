//! One suite, run on both stores.

use uuid::Uuid;

use crate::{
    adapters::test_stores::{NOW, TestStore, begun, from_contact, on_both_stores},
    domain::{
        canned_reply::CannedReply,
        docket::Docket,
        label::{Label, Labelling},
    },
    flow::{
        archive::{Archive, ConversationFilter, PageOf},
        back_office::labels_and_replies::{
            AddOutcome, ChangeOutcome, LABELS_KEPT_MAX, LabelChange, LabelsAndReplies, REPLIES_MAX,
            ReplyChange, ReplyFilter,
        },
        ledger::{Error, Key, Need, change},
    },
};

on_both_stores!(
    a_label_is_kept_renamed_and_removed,
    a_name_is_taken_in_either_case,
    of_two_that_take_a_name_at_once_one_is_told_so,
    no_label_is_added_that_a_list_of_them_would_leave_out,
    conversations_carry_labels_by_whatever_name_they_have,
    a_label_that_is_gone_is_not_put_on,
    a_shortcut_is_taken_once_by_each_owner,
    canned_replies_are_kept_changed_and_removed,
    a_reply_is_changed_only_while_it_is_for_no_more_than_was_said,
    what_one_agent_keeps_pushes_nothing_of_anothers_out_of_sight,
);

fn label(name: &str) -> Label {
    let colour = Some("#ff8800".to_owned());
    Label { id: Uuid::now_v7(), name: name.to_owned(), colour, description: None, created_at: NOW }
}

fn reply(shortcut: &str, owner: Option<Uuid>) -> CannedReply {
    CannedReply {
        id: Uuid::now_v7(),
        shortcut: shortcut.to_owned(),
        text: "We open at nine, {{contact.name}}.".to_owned(),
        channels: owner.is_none().then(|| vec!["shop".to_owned()]),
        owner,
        created_at: NOW,
    }
}

async fn a_label_is_kept_renamed_and_removed<S: TestStore>(store: &S) {
    let (vip, angry) = (label("VIP"), label("angry"));
    for label in [&vip, &angry] {
        assert_eq!(store.add_label(label).await.expect("writes"), AddOutcome::Kept);
    }
    assert_eq!(store.labels().await.expect("reads"), [angry.clone(), vip.clone()], "by name, case aside");
    let about = |words: &str| LabelChange { description: Some(Some(words.to_owned())), ..Default::default() };
    assert_eq!(store.change_label(angry.id, &about("soon")).await.expect("writes"), ChangeOutcome::Kept);
    let soon = Label { description: Some("soon".to_owned()), ..angry.clone() };
    assert_eq!(store.labels().await.expect("reads"), [soon, vip.clone()], "its colour and name stay");
    let calm =
        Label { name: "calm".to_owned(), colour: None, description: Some("now".to_owned()), ..angry.clone() };
    let change = LabelChange {
        name: Some("calm".to_owned()),
        colour: Some(None),
        description: Some(Some("now".to_owned())),
    };
    assert_eq!(store.change_label(angry.id, &change).await.expect("writes"), ChangeOutcome::Kept);
    assert_eq!(
        store.change_label(angry.id, &LabelChange::default()).await.expect("writes"),
        ChangeOutcome::Kept
    );
    assert!(store.remove_label(vip.id).await.expect("writes"));
    assert!(!store.remove_label(vip.id).await.expect("writes"));
    assert_eq!(
        store.change_label(vip.id, &LabelChange::default()).await.expect("writes"),
        ChangeOutcome::Gone
    );
    assert_eq!(store.labels().await.expect("reads"), [calm]);
}

async fn a_name_is_taken_in_either_case<S: TestStore>(store: &S) {
    let (vip, trouble) = (label("VIP"), label("Ärger"));
    for label in [&vip, &trouble] {
        assert_eq!(store.add_label(label).await.expect("writes"), AddOutcome::Kept);
    }
    for name in ["vip", "ÄRGER"] {
        assert_eq!(store.add_label(&label(name)).await.expect("writes"), AddOutcome::Taken, "{name}");
    }
    let called = |name: &str| LabelChange { name: Some(name.to_owned()), ..LabelChange::default() };
    assert_eq!(store.change_label(trouble.id, &called("vIP")).await.expect("writes"), ChangeOutcome::Taken);
    let louder = store.change_label(vip.id, &called("vip")).await.expect("writes");
    assert_eq!(louder, ChangeOutcome::Kept, "its own name is free to it");
}

async fn of_two_that_take_a_name_at_once_one_is_told_so<S: TestStore>(store: &S) {
    let labels = [label("a"), label("b")];
    for label in &labels {
        store.add_label(label).await.expect("writes");
    }
    let change = LabelChange { name: Some("c".to_owned()), ..LabelChange::default() };
    let (one, other) =
        tokio::join!(store.change_label(labels[0].id, &change), store.change_label(labels[1].id, &change));
    let mut both = [one.expect("writes"), other.expect("writes")];
    both.sort_by_key(|outcome| *outcome == ChangeOutcome::Taken);
    assert_eq!(both, [ChangeOutcome::Kept, ChangeOutcome::Taken]);
}

async fn no_label_is_added_that_a_list_of_them_would_leave_out<S: TestStore>(store: &S) {
    for n in 0..LABELS_KEPT_MAX {
        assert_eq!(store.add_label(&label(&n.to_string())).await.expect("writes"), AddOutcome::Kept);
    }
    assert_eq!(store.add_label(&label("one more")).await.expect("writes"), AddOutcome::TooMany);
    assert_eq!(store.add_label(&label("7")).await.expect("writes"), AddOutcome::Taken);
    let all = store.labels().await.expect("reads");
    assert_eq!(all.len(), LABELS_KEPT_MAX);
    store.remove_label(all[0].id).await.expect("writes");
    assert_eq!(store.add_label(&label("one more")).await.expect("writes"), AddOutcome::Kept);
}

/// Labels of a conversation, as a list shows them.
async fn shown<S: TestStore>(store: &S, conversation: Uuid) -> Vec<String> {
    store.conversation(conversation).await.expect("reads").expect("is there").labels
}

/// How many conversations carry that label.
async fn carrying<S: TestStore>(store: &S, label: &Label) -> i64 {
    let wanted = ConversationFilter { label: Some(label.id), ..Default::default() };
    let page = PageOf { limit: 10, cursor: None };
    let listed = store.conversations(&wanted, &page).await.expect("a page").items.len();
    let counted = store.counts(&wanted).await.expect("counts").all;
    assert_eq!(usize::try_from(counted).ok(), Some(listed));
    counted
}

async fn put_on<S: TestStore>(store: &S, conversation: Uuid, labelling: Labelling) -> Vec<Label> {
    let ledger = TestStore::ledger(store);
    let need = Need { labels: true, ..Need::default() };
    let step = move |docket: &mut Docket| {
        let before = docket.labels.clone();
        docket.labels = labelling.of(&docket.labels);
        before
    };
    change(ledger.as_ref(), Key::Id(conversation), need, step).await.expect("the step is committed")
}

async fn conversations_carry_labels_by_whatever_name_they_have<S: TestStore>(store: &S) {
    let (mei, tom) = (begun("shop", "6580000001@c.us"), begun("shop", "6580000002@c.us"));
    let (vip, angry) = (label("VIP"), label("angry"));
    for conversation in [&mei, &tom] {
        store.keep_conversation(conversation).await;
    }
    for label in [&vip, &angry] {
        store.add_label(label).await.expect("writes");
    }
    put_on(store, mei.id, Labelling::Whole(vec![vip.clone(), angry.clone()])).await;
    put_on(store, tom.id, Labelling::Whole(vec![vip.clone()])).await;
    assert_eq!(shown(store, mei.id).await, ["angry", "VIP"]);
    assert_eq!((carrying(store, &vip).await, carrying(store, &angry).await), (2, 1));
    assert_eq!(carrying(store, &label("unknown")).await, 0);

    let regular = LabelChange { name: Some("regular".to_owned()), ..LabelChange::default() };
    store.change_label(vip.id, &regular).await.expect("writes");
    assert_eq!(shown(store, tom.id).await, ["regular"]);
    assert_eq!(carrying(store, &vip).await, 2);

    let off = Labelling::Change { add: Vec::new(), remove: vec![vip.clone()] };
    let before = put_on(store, mei.id, off).await;
    assert_eq!(before.len(), 2, "a step sees the labels as they are: {before:?}");
    let ledger = TestStore::ledger(store);
    let write = |docket: &mut Docket| docket.push(from_contact(0, "Hello", NOW));
    change(ledger.as_ref(), Key::Id(mei.id), Need::default(), write).await.expect("the step is committed");
    assert_eq!(shown(store, mei.id).await, ["angry"], "a step that asked for no labels leaves them alone");
    store.remove_label(angry.id).await.expect("writes");
    assert!(shown(store, mei.id).await.is_empty());
    assert_eq!(put_on(store, mei.id, Labelling::Whole(Vec::new())).await, []);
}

async fn a_label_that_is_gone_is_not_put_on<S: TestStore>(store: &S) {
    let mei = begun("shop", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    put_on(store, mei.id, Labelling::Whole(vec![label("gone")])).await;
    assert!(shown(store, mei.id).await.is_empty());
}

async fn a_shortcut_is_taken_once_by_each_owner<S: TestStore>(store: &S) {
    let (ana, ben) = (Uuid::now_v7(), Uuid::now_v7());
    for owner in [None, Some(ana), Some(ben)] {
        assert_eq!(added(store, &reply("hours", owner)).await, AddOutcome::Kept, "{owner:?}");
        assert_eq!(added(store, &reply("Hours", owner)).await, AddOutcome::Taken, "{owner:?}");
        let called = store.canned_reply_called(owner, "HOURS").await.expect("reads").expect("is there");
        assert_eq!((called.owner, called.shortcut.as_str()), (owner, "hours"));
    }
    assert_eq!(store.canned_reply_called(Some(ana), "address").await.expect("reads"), None);
    let other = reply("address", Some(ana));
    assert_eq!(added(store, &other).await, AddOutcome::Kept);
    let found_by = |shortcut: &str| ReplyChange { shortcut: Some(shortcut.to_owned()), ..Default::default() };
    assert_eq!(
        store.change_canned_reply(other.id, &found_by("HOURS")).await.expect("writes"),
        ChangeOutcome::Taken
    );
    assert_eq!(
        store.change_canned_reply(other.id, &found_by("Address")).await.expect("writes"),
        ChangeOutcome::Kept
    );
}

async fn canned_replies_are_kept_changed_and_removed<S: TestStore>(store: &S) {
    let (hours, address) = (reply("hours", None), reply("Address", Some(Uuid::now_v7())));
    for reply in [&hours, &address] {
        assert_eq!(added(store, reply).await, AddOutcome::Kept);
    }
    let own = ReplyFilter { owner: address.owner, channels: None };
    assert_eq!(listed(store, &own).await, [address.clone(), hours.clone()]);
    assert_eq!(store.canned_reply(address.id).await.expect("reads"), Some(address.clone()));
    let later = CannedReply { text: "At ten.".to_owned(), channels: None, ..hours.clone() };
    // Each writes what they were given, and nothing that the other has changed.
    let change = ReplyChange { text: Some("At ten.".to_owned()), ..ReplyChange::default() };
    assert_eq!(store.change_canned_reply(hours.id, &change).await.expect("writes"), ChangeOutcome::Kept);
    let first = CannedReply { text: "At ten.".to_owned(), ..hours.clone() };
    assert_eq!(store.canned_reply(hours.id).await.expect("reads"), Some(first), "for the same channels");
    let change = ReplyChange { channels: Some(None), ..ReplyChange::default() };
    assert_eq!(store.change_canned_reply(hours.id, &change).await.expect("writes"), ChangeOutcome::Kept);
    assert!(store.remove_canned_reply(address.id, None).await.expect("writes"));
    assert!(!store.remove_canned_reply(address.id, None).await.expect("writes"));
    assert_eq!(store.change_canned_reply(address.id, &change).await.expect("writes"), ChangeOutcome::Gone);
    assert_eq!(store.canned_reply(address.id).await.expect("reads"), None);
    assert_eq!(listed(store, &own).await, [later]);
}

async fn a_reply_is_changed_only_while_it_is_for_no_more_than_was_said<S: TestStore>(store: &S) {
    let on = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    for (channels, within, is_right) in [
        (on(&["shop"]), on(&["shop", "cafe"]), true),
        (on(&["shop", "bar"]), on(&["shop", "cafe"]), false),
        (on(&[]), on(&["shop"]), false),
        (None, on(&["shop"]), false),
        (None, None, true),
    ] {
        let said = format!("{channels:?} within {within:?}");
        let kept = CannedReply { channels, ..reply(&Uuid::now_v7().simple().to_string(), None) };
        assert_eq!(added(store, &kept).await, AddOutcome::Kept);
        let text = Some("Never.".to_owned());
        let change = ReplyChange { text, within: within.clone(), ..ReplyChange::default() };
        let wanted = if is_right { ChangeOutcome::Kept } else { ChangeOutcome::Gone };
        assert_eq!(store.change_canned_reply(kept.id, &change).await.expect("writes"), wanted, "{said}");
        let now = store.canned_reply(kept.id).await.expect("reads").expect("there");
        assert_eq!(now.text == "Never.", is_right, "{said}");
        let is_removed = store.remove_canned_reply(kept.id, within.as_deref()).await.expect("writes");
        assert_eq!(is_removed, is_right, "{said}");
        assert_eq!(store.canned_reply(kept.id).await.expect("reads").is_none(), is_right, "{said}");
    }
}

async fn what_one_agent_keeps_pushes_nothing_of_anothers_out_of_sight<S: TestStore>(store: &S) {
    let (ana, ben) = (Uuid::now_v7(), Uuid::now_v7());
    for n in 0..REPLIES_MAX {
        assert_eq!(added(store, &reply(&format!("a{n:03}"), Some(ana))).await, AddOutcome::Kept);
    }
    assert_eq!(added(store, &reply("one-more", Some(ana))).await, AddOutcome::TooMany);
    assert_eq!(
        added(store, &reply("A499", Some(ana))).await,
        AddOutcome::Taken,
        "that it is there helps more"
    );
    let (own, shared) = (reply("zebra", Some(ben)), reply("Über", None));
    for reply in [&own, &shared] {
        assert_eq!(added(store, reply).await, AddOutcome::Kept);
    }
    let of_ben = |channels: Option<&[&str]>| ReplyFilter {
        owner: Some(ben),
        channels: channels.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
    };
    assert_eq!(listed(store, &of_ben(None)).await, [own.clone(), shared.clone()]);
    assert_eq!(listed(store, &of_ben(Some(&["shop", "far"]))).await, [own.clone(), shared.clone()]);
    assert_eq!(listed(store, &of_ben(Some(&["other"]))).await, std::slice::from_ref(&own));
    let all = listed(store, &ReplyFilter { owner: Some(ana), channels: None }).await;
    assert_eq!((all.len(), all.last()), (REPLIES_MAX + 1, Some(&shared)));
    assert_eq!(listed(store, &ReplyFilter::default()).await, std::slice::from_ref(&shared));
    store.remove_canned_reply(all[0].id, None).await.expect("writes");
    assert_eq!(added(store, &reply("one-more", Some(ana))).await, AddOutcome::Kept);
    let none_left = ReplyChange { channels: Some(Some(Vec::new())), ..ReplyChange::default() };
    store.change_canned_reply(shared.id, &none_left).await.expect("writes");
    assert_eq!(listed(store, &of_ben(Some(&["shop"]))).await, [own]);
    let nonsense = PageOf { limit: 2, cursor: Some("x".to_owned()) };
    assert!(matches!(store.canned_replies(&of_ben(None), &nonsense).await, Err(Error::NotACursor)));
}

async fn added<S: TestStore>(store: &S, reply: &CannedReply) -> AddOutcome {
    store.add_canned_reply(reply).await.expect("writes")
}

/// All that somebody sees, by pages.
async fn listed<S: TestStore>(store: &S, filter: &ReplyFilter) -> Vec<CannedReply> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = store.canned_replies(filter, &PageOf { limit: 100, cursor }).await.expect("a page");
        assert!(page.items.len() <= 100);
        all.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return all;
        }
    }
}
