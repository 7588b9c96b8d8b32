//! Turns, follow-ups, drafts and dead letters.

use serde_json::json;
use uuid::Uuid;

use super::{super::letters::PAYLOADS_MAX, all_pages, at, first};
use crate::{
    adapters::{
        sql::Statement,
        test_stores::{NOW, TestStore, begun, from_us, letter, on_both_stores, scheduled, suggested, turn},
    },
    domain::draft::{Draft, DraftState},
    domain::message::{Author, DeliveryState, Message},
    domain::turn::{DeadLetter, FollowUp, FollowUpState, LetterKind, LetterState, Turn, TurnState},
    flow::{
        archive::{Archive, FollowUpFilter, LetterFilter, Page, PageOf},
        forgetting::erasures::Erasures,
        ledger::Error,
    },
};

on_both_stores!(
    turns_come_newest_first_and_whole,
    follow_ups_come_by_due_time,
    follow_ups_are_narrowed,
    a_follow_up_stands_as_the_message_that_carries_it,
    what_is_listed_together_is_paged_together,
    drafts_come_newest_first_and_whole,
    letters_come_newest_first_and_whole,
    a_page_of_large_letters_ends_before_its_number,
    letters_are_narrowed,
    a_bad_cursor_is_refused_by_each,
);

async fn turns_come_newest_first_and_whole<S: TestStore>(store: &S) {
    let mei = begun("shop", "6580000001@c.us");
    let tom = begun("shop", "6580000002@c.us");
    store.keep_conversation(&mei).await;
    store.keep_conversation(&tom).await;
    let mut turns: Vec<Turn> = (0..5).map(|n| turn(NOW.plus_ms(n / 2))).collect();
    turns[4].state = TurnState::Generating;
    (turns[4].ended_at, turns[4].first_token_at) = (None, None);
    turns[4].is_final = true;
    store.keep_turns(&mei, turns.clone()).await;
    store.keep_turns(&tom, vec![turn(NOW)]).await;
    let found = all_pages(async |page| store.turns(mei.id, &page).await).await;
    turns.sort_by_key(|turn| std::cmp::Reverse((turn.started_at, turn.id)));
    assert_eq!(found, turns);
    let one = store.turn(turns[0].id).await.expect("reads");
    assert_eq!(one, Some((mei.id, "shop".to_owned(), turns[0].clone())));
    assert_eq!(store.turn(Uuid::now_v7()).await.expect("reads"), None);
}

async fn follow_ups_come_by_due_time<S: TestStore>(store: &S) {
    let mut kept: Vec<(Uuid, FollowUp)> = Vec::new();
    for n in 0..5_i64 {
        let conversation = begun("shop", &format!("658000000{n}@c.us"));
        store.keep_conversation(&conversation).await;
        let follow_up = scheduled(NOW.plus_ms(9 - n / 2), FollowUpState::Pending);
        store.keep_follow_ups(&conversation, vec![follow_up.clone()]).await;
        kept.push((conversation.id, follow_up));
    }
    kept.sort_by_key(|(_, follow_up)| (follow_up.due_at, follow_up.id));
    let found = all_pages(async |page| store.follow_ups(&FollowUpFilter::default(), &page).await).await;
    assert_eq!(found, kept);
    // What is over is looked at from the last one back.
    for (conversation, follow_up) in &mut kept {
        follow_up.state = FollowUpState::Cancelled;
        let over = Statement::new("update follow_ups set state = 'cancelled' where conversation_id = $1");
        store.write(over.with(*conversation)).await.expect("writes");
    }
    kept.reverse();
    let over = FollowUpFilter { state: Some(FollowUpState::Cancelled), ..FollowUpFilter::default() };
    let found = all_pages(async |page| store.follow_ups(&over, &page).await).await;
    assert_eq!(found, kept);
}

async fn follow_ups_are_narrowed<S: TestStore>(store: &S) {
    let mei = begun("shop", "6580000001@c.us");
    let tom = begun("other", "6580000002@c.us");
    store.keep_conversation(&mei).await;
    store.keep_conversation(&tom).await;
    let [a, b, c] = [
        scheduled(NOW, FollowUpState::Pending),
        scheduled(NOW.plus_ms(5), FollowUpState::Withheld),
        scheduled(NOW.plus_ms(5), FollowUpState::Pending),
    ];
    store.keep_follow_ups(&mei, vec![a.clone(), b.clone()]).await;
    store.keep_follow_ups(&tom, vec![c.clone()]).await;
    let all = FollowUpFilter::default;
    for (filter, wanted) in [
        (all(), vec![a.id, c.id]),
        (FollowUpFilter { state: Some(FollowUpState::Withheld), ..all() }, vec![b.id]),
        (FollowUpFilter { channels: Some(vec!["shop".to_owned()]), ..all() }, vec![a.id]),
        (FollowUpFilter { conversation: Some(tom.id), ..all() }, vec![c.id]),
        (FollowUpFilter { due_before: Some(NOW.plus_ms(5)), ..all() }, vec![a.id]),
    ] {
        let page = store.follow_ups(&filter, &first(10)).await.expect("a page");
        let found: Vec<Uuid> = page.items.iter().map(|(_, follow_up)| follow_up.id).collect();
        assert_eq!(found, wanted, "{filter:?}");
    }
}

async fn a_follow_up_stands_as_the_message_that_carries_it<S: TestStore>(store: &S) {
    use DeliveryState::{Cancelled, Dead, Delivered, Failed, Queued, Read, Sending, Sent, Unknown};
    let mei = begun("shop", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    for (seq, state) in (1..).zip([Queued, Sending, Unknown, Sent, Delivered, Read, Cancelled, Failed, Dead])
    {
        let message = from_us(seq, Author::Assistant, "Still there?", NOW, state);
        let follow_up = FollowUp { message: Some(message.id), ..scheduled(NOW, FollowUpState::Sent) };
        store.keep_messages(&mei, vec![message]).await;
        store.keep_follow_ups(&mei, vec![follow_up.clone()]).await;
        let mut stands = Vec::new();
        for asked in FollowUpState::ALL {
            let filter = FollowUpFilter { state: Some(*asked), ..FollowUpFilter::default() };
            let page = store.follow_ups(&filter, &first(10)).await.expect("a page");
            let its = page.items.iter().filter(|(_, found)| found.id == follow_up.id);
            stands.extend(its.map(|(of, found)| (*of, *asked, found.state)));
        }
        let wanted = match state {
            Queued | Sending | Unknown => FollowUpState::Pending,
            Sent | Delivered | Read => FollowUpState::Sent,
            Cancelled | Failed | Dead => FollowUpState::Withheld,
        };
        assert_eq!(stands, [(mei.id, wanted, wanted)], "{state}");
    }
}

async fn what_is_listed_together_is_paged_together<S: TestStore>(store: &S) {
    use DeliveryState::{Dead, Queued};
    let (mut pending, mut withheld, mut others) = (Vec::new(), Vec::new(), None);
    for n in 0..4_i64 {
        let channel = if n == 3 { "other" } else { "shop" };
        let conversation = begun(channel, &format!("658000000{n}@c.us"));
        store.keep_conversation(&conversation).await;
        let carried = |at, message: &Message| FollowUp {
            message: Some(message.id),
            ..scheduled(at, FollowUpState::Sent)
        };
        let messages = [Queued, Dead]
            .map(|state| from_us(1 + i64::from(state == Dead), Author::Assistant, "Hm?", NOW, state));
        let due_at = |ms: i64| NOW.plus_ms(10 * n + ms);
        let kept = [
            scheduled(due_at(4), FollowUpState::Pending),
            carried(due_at(0), &messages[0]),
            scheduled(due_at(0), FollowUpState::Withheld),
            carried(due_at(5), &messages[1]),
        ];
        store.keep_messages(&conversation, messages.to_vec()).await;
        store.keep_follow_ups(&conversation, kept.to_vec()).await;
        let [planned, owed, held, given_up] = kept.map(|it| (conversation.id, it.id));
        pending.extend([owed, planned]);
        others = Some(conversation.id);
        withheld.extend([held, given_up]);
    }
    withheld.reverse();
    for (state, wanted) in [(FollowUpState::Pending, pending), (FollowUpState::Withheld, withheld)] {
        let listed = async |filter: FollowUpFilter| {
            let filter = FollowUpFilter { state: Some(state), ..filter };
            let found = all_pages(async |page| store.follow_ups(&filter, &page).await).await;
            found.into_iter().map(|(of, it)| (of, it.id)).collect::<Vec<_>>()
        };
        let all = FollowUpFilter::default;
        assert_eq!(listed(all()).await, wanted, "{state}");
        let other = FollowUpFilter { channels: Some(vec!["other".to_owned()]), ..all() };
        let of_other: Vec<_> = wanted.iter().filter(|(of, _)| others == Some(*of)).copied().collect();
        assert_eq!(listed(other).await, of_other, "{state}");
        let soon = FollowUpFilter { due_before: Some(NOW.plus_ms(4)), ..all() };
        assert_eq!(listed(soon).await.len(), 1, "{state}");
    }
}

async fn drafts_come_newest_first_and_whole<S: TestStore>(store: &S) {
    let mei = begun("shop", "6580000001@c.us");
    let tom = begun("shop", "6580000002@c.us");
    store.keep_conversation(&mei).await;
    store.keep_conversation(&tom).await;
    let mut drafts: Vec<Draft> = (0..)
        .zip(DraftState::ALL)
        .map(|(n, state)| suggested(NOW.plus_ms(n / 2), *state, i64::from(*state == DraftState::Edited)))
        .collect();
    store.keep_drafts(&mei, drafts.clone()).await;
    let other = suggested(NOW, DraftState::Fresh, 0);
    store.keep_drafts(&tom, vec![other.clone()]).await;
    let found = all_pages(async |page| store.drafts(mei.id, &page).await).await;
    drafts.sort_by_key(|draft| std::cmp::Reverse((draft.created_at, draft.id)));
    assert_eq!(found, drafts);
    assert_eq!(store.draft(other.id).await.expect("reads"), Some((tom.id, other)));
    assert_eq!(store.draft(Uuid::now_v7()).await.expect("reads"), None);
}

async fn letters_come_newest_first_and_whole<S: TestStore>(store: &S) {
    let mut letters: Vec<DeadLetter> =
        (0..5).map(|n| letter("shop", LetterKind::Webhook, NOW.plus_ms(n / 2))).collect();
    store.keep_letters(letters.clone()).await;
    letters.sort_by_key(|letter| (std::cmp::Reverse(letter.last_at), letter.id));
    let found = all_pages(async |page| store.letters(&LetterFilter::default(), &page).await).await;
    assert_eq!(found, letters);
    assert_eq!(store.letter(letters[3].id).await.expect("reads").as_ref(), Some(&letters[3]));
    assert_eq!(store.letter(Uuid::now_v7()).await.expect("reads"), None);
}

async fn a_page_of_large_letters_ends_before_its_number<S: TestStore>(store: &S) {
    let large = "x".repeat(usize::try_from(PAYLOADS_MAX / 8).expect("a number"));
    let of = |n: i64| DeadLetter {
        payload: json!(large).into(),
        ..letter("shop", LetterKind::Webhook, NOW.plus_ms(n / 2))
    };
    let mut letters: Vec<DeadLetter> = (0..50).map(of).collect();
    // One is larger than a page by itself.
    letters[20].payload = json!("x".repeat(usize::try_from(PAYLOADS_MAX + 1).expect("a number"))).into();
    for some in letters.chunks(10) {
        store.keep_letters(some.to_vec()).await;
    }
    let (mut found, mut page) = (Vec::new(), first(200));
    loop {
        let Page { items, next } = store.letters(&LetterFilter::default(), &page).await.expect("a page");
        let bytes: usize = items.iter().map(|letter| letter.payload.get().len()).sum();
        let last = items.last().map_or(0, |letter| letter.payload.get().len());
        assert!(i64::try_from(bytes - last).is_ok_and(|before| before < PAYLOADS_MAX), "{bytes}");
        assert!(!items.is_empty() && items.len() <= 8, "{}", items.len());
        found.extend(items.into_iter().map(|letter| letter.id));
        match next {
            Some(cursor) => page = PageOf { limit: 200, cursor: Some(cursor) },
            None => break,
        }
    }
    letters.sort_by_key(|letter| (std::cmp::Reverse(letter.last_at), letter.id));
    assert_eq!(found, letters.iter().map(|letter| letter.id).collect::<Vec<_>>());
    let (mut unread, mut after) = (0, None);
    loop {
        let page = store.webhooks("shop", after, 500).await.expect("reads");
        let Some((last, _)) = page.last() else { break };
        assert!(page.len() <= 8, "{}", page.len());
        (unread, after) = (unread + page.len(), Some(*last));
    }
    assert_eq!(unread, letters.len());
}

async fn letters_are_narrowed<S: TestStore>(store: &S) {
    let mei = begun("other", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    let webhook = letter("shop", LetterKind::Webhook, NOW);
    let send = DeadLetter {
        conversation: Some(mei.id),
        subject: Some(Uuid::now_v7()),
        ..letter("other", LetterKind::Send, NOW.plus_ms(1))
    };
    let gone = DeadLetter { state: LetterState::Discarded, ..letter("shop", LetterKind::Send, NOW) };
    store.keep_letters(vec![webhook.clone(), send.clone(), gone.clone()]).await;
    let all = LetterFilter::default;
    for (filter, wanted) in [
        (all(), vec![send.id, webhook.id]),
        (LetterFilter { kind: Some(LetterKind::Webhook), ..all() }, vec![webhook.id]),
        (LetterFilter { channels: Some(vec!["other".to_owned()]), ..all() }, vec![send.id]),
        (LetterFilter { conversation: Some(mei.id), ..all() }, vec![send.id]),
        (LetterFilter { state: Some(LetterState::Discarded), ..all() }, vec![gone.id]),
    ] {
        let page = store.letters(&filter, &first(10)).await.expect("a page");
        let found: Vec<Uuid> = page.items.iter().map(|letter| letter.id).collect();
        assert_eq!(found, wanted, "{filter:?}");
    }
    let found = store.letter(gone.id).await.expect("reads");
    assert_eq!(found, Some(gone), "one by its id is found in whatever state");
}

async fn a_bad_cursor_is_refused_by_each<S: TestStore>(store: &S) {
    let refused = |answer: Option<Error>| matches!(answer, Some(Error::NotACursor));
    let page = at("not one of ours");
    assert!(refused(store.turns(Uuid::now_v7(), &page).await.err()));
    assert!(refused(store.follow_ups(&FollowUpFilter::default(), &page).await.err()));
    assert!(refused(store.letters(&LetterFilter::default(), &page).await.err()));
    assert!(refused(store.drafts(Uuid::now_v7(), &page).await.err()));
    assert!(refused(store.events(&Default::default(), &page).await.err()));
}
