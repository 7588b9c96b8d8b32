//! Conversations: what a list shows of them, how it is narrowed, sorted and cut.

use std::sync::Mutex;

use uuid::Uuid;

use super::{all_pages, at, first};
use crate::{
    adapters::{
        sql::{Engine, Part, Statement, Store},
        test_stores::{NOW, TestStore, answered, begun, from_contact, from_us, on_both_stores, scheduled},
    },
    domain::{
        chat::ChatId,
        conversation::{Attention, AttentionReason, Conversation, Lease, Status},
        message::{Author, DeliveryState, Kind, Message, Outcome},
        mode::Mode,
        time::Time,
        turn::{FollowUp, FollowUpState},
    },
    flow::{
        archive::{Archive, ConversationFilter, FollowUpFilter, Group, Sort, Statistics},
        ledger::Error,
    },
};

on_both_stores!(
    a_conversation_is_shown_with_all_that_hangs_on_it,
    a_follow_up_is_shown_until_it_has_left,
    a_conversation_is_found_by_any_id_of_its_chat,
    a_page_takes_five_statements_however_many_rows_it_has,
    every_filter_narrows,
    whoever_waits_for_people_needs_them_and_nobody_else,
    pages_hold_each_conversation_once_in_every_sort,
    a_cursor_of_another_list_is_refused,
    no_page_has_more_than_two_hundred_rows,
    only_leases_held_now_are_listed,
);

async fn a_conversation_is_shown_with_all_that_hangs_on_it<S: TestStore>(store: &S) {
    let mut mei = begun("shop", "6580000001@c.us");
    mei.contact_name = Some("Mei".to_owned());
    mei.lease = Some(Lease { owner: "a".to_owned(), turn: Uuid::now_v7(), until: NOW.plus_ms(5) });
    mei.memo.restarts = 2;
    store.keep_conversation(&mei).await;
    store.keep_chat("shop", "100000000000001@lid", mei.id).await;
    let reply = from_us(2, Author::Assistant, "We open at nine.", NOW.plus_ms(1), DeliveryState::Sending);
    let note =
        Message { kind: Kind::Note, ..from_us(4, Author::Agent, "A regular.", NOW, DeliveryState::Read) };
    let messages = vec![
        answered(from_contact(1, "When do you open?", NOW), Outcome::Answered, None),
        reply.clone(),
        from_us(3, Author::Assistant, "On Sundays at ten.", NOW.plus_ms(2), DeliveryState::Queued),
        note,
    ];
    store.keep_messages(&mei, messages.clone()).await;
    let pending = scheduled(NOW.plus_ms(9), FollowUpState::Pending);
    store.keep_follow_ups(&mei, vec![scheduled(NOW, FollowUpState::Cancelled), pending.clone()]).await;

    let shown = store.conversation(mei.id).await.expect("reads").expect("is there");
    assert_eq!(shown.conversation, mei);
    assert_eq!(shown.aliases, [ChatId::parse("100000000000001@lid").expect("an id")]);
    assert_eq!(shown.follow_up, Some(pending));
    assert_eq!(shown.last_message.as_ref(), Some(&messages[2]), "a note is not what was said last");
    assert_eq!((shown.inbox, shown.queued, shown.sending), (0, 1, 1));
    assert_eq!(shown.read_at, NOW);
    assert_eq!(store.conversation(Uuid::now_v7()).await.expect("reads"), None);
}

/// As the list of follow-ups has it, and the count of what waits.
async fn a_follow_up_is_shown_until_it_has_left<S: TestStore>(store: &S) {
    use DeliveryState::{Cancelled, Dead, Delivered, Failed, Queued, Read, Sending, Sent, Unknown};
    let mut owed = 0;
    for (n, state) in (0..).zip([Queued, Sending, Unknown, Sent, Delivered, Read, Cancelled, Failed, Dead]) {
        let mei = begun("shop", &format!("658000000{n}@c.us"));
        store.keep_conversation(&mei).await;
        let message = from_us(1, Author::Assistant, "Still there?", NOW, state);
        let carried = FollowUp { message: Some(message.id), ..scheduled(NOW, FollowUpState::Sent) };
        let next = scheduled(NOW.plus_ms(9), FollowUpState::Pending);
        let is_owed = matches!(state, Queued | Sending | Unknown);
        owed += i64::from(is_owed);
        store.keep_messages(&mei, vec![message]).await;
        store.keep_follow_ups(&mei, vec![carried.clone()]).await;
        let shown = async || {
            let found = store.conversation(mei.id).await.expect("reads").expect("is there").follow_up;
            found.map(|it| (it.id, it.state, it.message))
        };
        let wanted = is_owed.then_some((carried.id, FollowUpState::Pending, carried.message));
        assert_eq!(shown().await, wanted, "{state}");
        let filter = FollowUpFilter { conversation: Some(mei.id), ..FollowUpFilter::default() };
        let listed = store.follow_ups(&filter, &first(10)).await.expect("a page").items;
        assert_eq!(listed.len(), usize::from(is_owed), "{state}");
        assert_eq!(store.depths(None).await.expect("counts").follow_ups, owed, "{state}");
        if matches!(state, Queued | Unknown) {
            store.keep_follow_ups(&mei, vec![next.clone()]).await;
            owed += 1;
            let first = if state == Queued { carried.id } else { next.id };
            assert_eq!(shown().await.map(|it| it.0), Some(first), "{state}: what can be called off");
        }
    }
    for (channels, wanted) in [(vec!["shop".to_owned()], owed), (vec!["other".to_owned()], 0)] {
        assert_eq!(store.depths(Some(&channels)).await.expect("counts").follow_ups, wanted);
    }
}

async fn a_conversation_is_found_by_any_id_of_its_chat<S: TestStore>(store: &S) {
    let mei = begun("shop", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    store.keep_chat("shop", "100000000000001@lid", mei.id).await;
    let lid = ChatId::parse("100000000000001@lid").expect("an id");
    for chat in [&mei.chat, &lid] {
        let found = store.conversation_of("shop", chat).await.expect("reads");
        assert_eq!(found.map(|overview| overview.conversation.id), Some(mei.id));
        assert_eq!(store.conversation_of("other", chat).await.expect("reads"), None);
        let wanted = ConversationFilter { chat: Some(chat.clone()), ..Default::default() };
        assert_eq!(store.counts(&wanted).await.expect("counts").all, 1);
    }
}

/// A store that counts what it is asked.
struct Counting<'s, S> {
    store: &'s S,
    asked: Mutex<usize>,
}

impl<S: Store> Store for Counting<'_, S> {
    type Row = S::Row;

    const ENGINE: Engine = S::ENGINE;

    fn moment(&self) -> Option<Time> {
        self.store.moment()
    }

    async fn rows(&self, statement: Statement) -> Result<Vec<S::Row>, Error> {
        *self.asked.lock().expect("nobody panics here") += 1;
        self.store.rows(statement).await
    }

    async fn write(&self, statement: Statement) -> Result<u64, Error> {
        self.store.write(statement).await
    }

    async fn write_together(&self, parts: Vec<Part>) -> Result<bool, Error> {
        self.store.write_together(parts).await
    }
}

async fn a_page_takes_five_statements_however_many_rows_it_has<S: TestStore>(store: &S) {
    for n in 0..30 {
        let conversation = begun("shop", &format!("65800000{n:02}@c.us"));
        store.keep_conversation(&conversation).await;
        store.keep_messages(&conversation, vec![from_contact(1, "Hello", NOW)]).await;
    }
    for limit in [1, 30] {
        let counting = Counting { store, asked: Mutex::new(0) };
        let page =
            counting.conversations(&ConversationFilter::default(), &first(limit)).await.expect("a page");
        assert_eq!(page.items.len(), limit);
        assert!(page.items.iter().all(|shown| shown.last_message.is_some() && shown.inbox == 1));
        assert_eq!(*counting.asked.lock().expect("nobody panics here"), 5);
    }
}

/// Three conversations that differ in all a filter looks at.
async fn three<S: TestStore>(store: &S) -> (Uuid, [Conversation; 3]) {
    let agent = Uuid::now_v7();
    let mut plain = begun("shop", "6580000001@c.us");
    plain.updated_at = NOW.plus_ms(10);
    let mut held = begun("shop", "6580000002@c.us");
    held.mode.mode = Mode::Human;
    held.assignee = Some(agent);
    held.unread = 1;
    held.waiting_since = Some(NOW);
    let mut failed = begun("other", "6580000003@c.us");
    failed.status = Status::Closed;
    failed.attention = Some(Attention { reason: AttentionReason::SendUnknown, since: NOW });
    for conversation in [&plain, &held, &failed] {
        store.keep_conversation(conversation).await;
    }
    (agent, [plain, held, failed])
}

async fn every_filter_narrows<S: TestStore>(store: &S) {
    let (agent, [plain, held, failed]) = three(store).await;
    let all = ConversationFilter::default;
    let (p, h, f) = (plain.id, held.id, failed.id);
    let table = [
        ("nothing", all(), vec![p, h, f]),
        (
            "channels",
            ConversationFilter { channels: Some(vec!["shop".into(), "x".into()]), ..all() },
            vec![p, h],
        ),
        ("no channel", ConversationFilter { channels: Some(vec![]), ..all() }, vec![]),
        ("chat", ConversationFilter { chat: Some(held.chat), ..all() }, vec![h]),
        ("AI", ConversationFilter { mode: Some(Mode::Ai), ..all() }, vec![p, f]),
        ("HUMAN", ConversationFilter { mode: Some(Mode::Human), ..all() }, vec![h]),
        ("closed", ConversationFilter { status: Some(Status::Closed), ..all() }, vec![f]),
        ("held by nobody", ConversationFilter { assignee: Some(None), ..all() }, vec![p, f]),
        ("held by the agent", ConversationFilter { assignee: Some(Some(agent)), ..all() }, vec![h]),
        ("attention", ConversationFilter { attention: Some(true), ..all() }, vec![f]),
        ("no attention", ConversationFilter { attention: Some(false), ..all() }, vec![p, h]),
        ("needs you", ConversationFilter { group: Some(Group::NeedsYou), ..all() }, vec![h, f]),
        ("mine", ConversationFilter { group: Some(Group::Mine(agent)), ..all() }, vec![h]),
        ("in AI", ConversationFilter { group: Some(Group::Ai), ..all() }, vec![p, f]),
        ("unread", ConversationFilter { unread: Some(true), ..all() }, vec![h]),
        ("read", ConversationFilter { unread: Some(false), ..all() }, vec![p, f]),
        ("updated", ConversationFilter { updated_since: Some(NOW.plus_ms(10)), ..all() }, vec![p]),
        ("waiting", ConversationFilter { sort: Sort::WaitingSince, ..all() }, vec![h]),
        (
            "all at once",
            ConversationFilter {
                channels: Some(vec!["shop".into()]),
                mode: Some(Mode::Human),
                unread: Some(true),
                assignee: Some(Some(agent)),
                group: Some(Group::NeedsYou),
                ..all()
            },
            vec![h],
        ),
    ];
    for (name, filter, mut wanted) in table {
        let page = store.conversations(&filter, &first(10)).await.expect("a page");
        let mut found: Vec<Uuid> = page.items.iter().map(|shown| shown.conversation.id).collect();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{name}");
        let counts = store.counts(&filter).await.expect("counts");
        let counted = match filter.group {
            None => counts.all,
            Some(Group::NeedsYou) => counts.needs_you,
            Some(Group::Mine(agent)) => counts.held[&agent],
            Some(Group::Ai) => counts.ai,
        };
        assert_eq!(usize::try_from(counted), Ok(wanted.len()), "{name}");
    }
}

async fn whoever_waits_for_people_needs_them_and_nobody_else<S: TestStore>(store: &S) {
    let mut kept = Vec::new();
    // With something that starts no turn; and who spoke last, but was left in silence on purpose, or took it back.
    for (n, waiting_since, contact_seq) in [(1, Some(NOW), 1), (2, None, 3)] {
        let mut conversation = begun("shop", &format!("658000000{n}@c.us"));
        conversation.mode.mode = Mode::Human;
        conversation.waiting_since = waiting_since;
        (conversation.contact_seq, conversation.our_seq) = (contact_seq, 2);
        store.keep_conversation(&conversation).await;
        kept.push(conversation.id);
    }
    let filter = ConversationFilter { group: Some(Group::NeedsYou), ..Default::default() };
    let page = store.conversations(&filter, &first(10)).await.expect("a page");
    let found: Vec<Uuid> = page.items.iter().map(|shown| shown.conversation.id).collect();
    assert_eq!(found, kept[..1]);
    let counts = store.counts(&ConversationFilter::default()).await.expect("counts");
    assert_eq!((counts.needs_you, counts.all), (1, 2));
}

async fn pages_hold_each_conversation_once_in_every_sort<S: TestStore>(store: &S) {
    let mut kept = Vec::new();
    for n in 0..7_i64 {
        let mut conversation = begun("shop", &format!("658000000{n}@c.us"));
        // Ties in threes: only the id tells them apart. One has no messages, and stands where it began.
        conversation.last_message_at = (n > 0).then(|| NOW.plus_ms(n / 3 * 100 - 50));
        conversation.waiting_since = (n > 1).then(|| NOW.plus_ms(n / 3));
        conversation.updated_at = NOW.plus_ms(n / 3);
        store.keep_conversation(&conversation).await;
        kept.push(conversation);
    }
    for sort in [Sort::LastMessage, Sort::WaitingSince, Sort::Updated] {
        let mut wanted: Vec<&Conversation> = kept.iter().collect();
        if sort == Sort::WaitingSince {
            wanted.retain(|conversation| conversation.waiting_since.is_some());
        }
        wanted.sort_by_key(|conversation| {
            let key = match sort {
                Sort::LastMessage => -conversation.last_message_at.unwrap_or(conversation.created_at).0,
                Sort::WaitingSince => conversation.waiting_since.map_or(0, |since| since.0),
                Sort::Updated => -conversation.updated_at.0,
            };
            (key, conversation.id)
        });
        let filter = ConversationFilter { sort, ..Default::default() };
        let found = all_pages(async |page| store.conversations(&filter, &page).await).await;
        let found: Vec<Uuid> = found.iter().map(|shown| shown.conversation.id).collect();
        let wanted: Vec<Uuid> = wanted.iter().map(|conversation| conversation.id).collect();
        assert_eq!(found, wanted, "{sort:?}");
    }
}

async fn a_cursor_of_another_list_is_refused<S: TestStore>(store: &S) {
    three(store).await;
    let newest = ConversationFilter::default();
    let updated = ConversationFilter { sort: Sort::Updated, ..Default::default() };
    let cursor = store.conversations(&newest, &first(1)).await.expect("a page").next.expect("more");
    assert!(store.conversations(&newest, &at(&cursor)).await.is_ok());
    for (filter, cursor) in [(&updated, cursor.as_str()), (&newest, "nonsense"), (&newest, "")] {
        assert!(
            matches!(store.conversations(filter, &at(cursor)).await, Err(Error::NotACursor)),
            "{cursor:?}"
        );
    }
}

async fn no_page_has_more_than_two_hundred_rows<S: TestStore>(store: &S) {
    for n in 0..201 {
        store.keep_conversation(&begun("shop", &format!("65800{n:05}@c.us"))).await;
    }
    let page = store.conversations(&ConversationFilter::default(), &first(100_000)).await.expect("a page");
    assert_eq!((page.items.len(), page.next.is_some()), (200, true));
    let page = store.conversations(&ConversationFilter::default(), &first(0)).await.expect("a page");
    assert_eq!(page.items.len(), 1);
}

async fn only_leases_held_now_are_listed<S: TestStore>(store: &S) {
    let lease = |until| Some(Lease { owner: "a".to_owned(), turn: Uuid::now_v7(), until });
    let mut working = begun("shop", "6580000001@c.us");
    working.lease = lease(NOW.plus_ms(1));
    let mut left = begun("shop", "6580000002@c.us");
    left.lease = lease(NOW);
    for conversation in [&working, &left, &begun("shop", "6580000003@c.us")] {
        store.keep_conversation(conversation).await;
    }
    let held = store.leases().await.expect("reads");
    assert_eq!(held, [(working.id, working.lease.expect("just given"))]);
}
