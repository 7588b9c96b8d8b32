//! What was never heard, and is found in the provider's journal.

use metrics_exporter_prometheus::PrometheusBuilder;

use super::*;
use crate::adapters::sql::cell;

on_both_stores!(
    what_was_missed_is_found_once,
    what_was_missed_is_counted_from_zero_on,
    what_was_only_typed_on_the_phone_is_counted_as_missed_too,
    what_came_while_no_instance_ran_is_looked_for_when_one_starts,
    what_was_answered_on_the_phone_unheard_stays_with_whoever_answered_it,
    who_wrote_on_the_phone_unheard_takes_over_though_no_message_was_missed,
    what_may_have_come_after_an_answer_on_the_phone_waits_for_another,
    an_answer_on_the_phone_is_known_whichever_id_of_the_chat_it_is_shown_under,
    what_came_before_a_restore_goes_to_a_person,
    what_the_store_refuses_does_not_hold_up_what_was_missed_beside_it,
    while_the_phone_is_not_linked_nothing_counts_as_looked_through,
    a_phone_linked_again_makes_the_journal_due,
    a_look_that_was_cut_is_made_again_by_another_and_one_that_was_not_every_hour,
);

/// A store that refuses one message for its data.
struct Refusing(Arc<dyn Ledger>);

#[async_trait]
impl Ledger for Refusing {
    async fn run(&self, key: Key, need: Need, step: Erased) -> Result<(), Error> {
        match need.keys.iter().any(|key| key == "refused") {
            true => Err(Error::Refused("its data".into())),
            false => self.0.run(key, need, step).await,
        }
    }

    async fn due(&self, work: Work, channels: &[String], limit: usize) -> Result<Vec<Due>, Error> {
        self.0.due(work, channels, limit).await
    }

    async fn standings(&self, held: &[Held], extend_ms: Option<i64>) -> Result<Vec<Standing>, Error> {
        self.0.standings(held, extend_ms).await
    }

    async fn keep(&self, events: Vec<Event>, letters: Vec<DeadLetter>) -> Result<(), Error> {
        self.0.keep(events, letters).await
    }

    async fn keep_once(&self, event: Event, letter: DeadLetter) -> Result<bool, Error> {
        self.0.keep_once(event, letter).await
    }

    async fn now(&self) -> Result<Time, Error> {
        self.0.now().await
    }

    fn forget(&self, conversation: uuid::Uuid) {
        self.0.forget(conversation);
    }
}

/// What became of each message of a contact, by its words.
async fn fates<S: TestStore + Clone + 'static>(shop: &Shop<S>) -> Vec<(String, Outcome)> {
    let all = shop.messages().await.into_iter();
    all.map(|message| (message.text, message.inbound.expect("a contact's").outcome)).collect()
}

async fn what_was_missed_is_found_once<S: TestStore + Clone + 'static>(store: &S) {
    let shop = Shop::open(store).await;
    shop.queue(&["known"]);
    shop.poller("a").poll("shop").await.expect("works");
    *shop.gateway.journal.lock().expect("whole") = vec![
        said("before us", 13 * HOUR),
        said("missed", HOUR),
        said("known", HOUR / 2),
        said("on its way", 10_000),
    ];
    let repair = shop.repair();
    assert_eq!(repair.repair("shop").await.expect("works"), 1);
    assert_eq!(repair.repair("shop").await.expect("works"), 0, "not due");
    store.schedule_repair("shop", 0).await.expect("writes");
    assert_eq!(repair.repair("shop").await.expect("works"), 0, "nothing is missing any more");
    let wanted = [("text known", Outcome::Pending), ("text missed", Outcome::Pending)];
    assert_eq!(fates(&shop).await, wanted.map(|(text, outcome)| (text.to_owned(), outcome)));
}

async fn what_was_missed_is_counted_from_zero_on<S: TestStore + Clone + 'static>(store: &S) {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _here = metrics::set_default_local_recorder(&recorder);
    let shop = Shop::open(store).await;
    let counted = async || {
        shop.repair().repair("shop").await.expect("works");
        let text = recorder.handle().render();
        let line =
            text.lines().find(|line| line.starts_with("baton_missed_messages_total")).map(ToOwned::to_owned);
        line.expect("it is there")
    };
    assert_eq!(counted().await, r#"baton_missed_messages_total{channel="shop"} 0"#);
    // Old enough to be missed, and not so old that the look before had them behind it.
    *shop.gateway.journal.lock().expect("whole") = vec![said("missed", 300_000), said("too", 240_000)];
    store.schedule_repair("shop", 0).await.expect("writes");
    assert_eq!(counted().await, r#"baton_missed_messages_total{channel="shop"} 2"#);
    assert_eq!(counted().await, r#"baton_missed_messages_total{channel="shop"} 2"#, "not due");
}

async fn what_was_only_typed_on_the_phone_is_counted_as_missed_too<S: TestStore + Clone + 'static>(
    store: &S,
) {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _here = metrics::set_default_local_recorder(&recorder);
    let shop = Shop::open(store).await;
    *shop.gateway.typed.lock().expect("whole") =
        vec![typed(&mira(), "P1", HOUR), typed(&mira(), "P2", HOUR / 2)];
    assert_eq!(shop.repair().repair("shop").await.expect("works"), 2);
    let shown = recorder.handle().render();
    assert!(shown.contains(r#"baton_missed_messages_total{channel="shop"} 2"#), "{shown}");
}

async fn what_came_while_no_instance_ran_is_looked_for_when_one_starts<S: TestStore + Clone + 'static>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    let repair = shop.repair();
    assert_eq!(repair.repair("shop").await.expect("works"), 0);
    *shop.gateway.journal.lock().expect("whole") = vec![said("missed", 300_000)];
    assert_eq!(repair.repair("shop").await.expect("works"), 0, "not due for an hour");
    repair.begin("shop").await.expect("works");
    assert_eq!(repair.repair("shop").await.expect("works"), 0, "what the provider kept comes first");
    let pass = Statement::new("update channels set repair_at = repair_at - $1").with(180_000_i64);
    store.write(pass).await.expect("written");
    assert_eq!(repair.repair("shop").await.expect("works"), 1);
}

async fn what_was_answered_on_the_phone_unheard_stays_with_whoever_answered_it<
    S: TestStore + Clone + 'static,
>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    let other = ChatId::parse("6580000002@c.us").expect("a chat id");
    let unanswered = Arrival { chat: other.clone(), ..said("unanswered", 2 * HOUR) };
    *shop.gateway.journal.lock().expect("whole") =
        vec![said("removed", 2 * HOUR), said("answered", 2 * HOUR), unanswered, said("since then", HOUR / 3)];
    let removed = shop.intake.tombstones.of("shop", &mira(), "removed").hash;
    let removed =
        Statement::new("insert into tombstones (hash, kind) values ($1, 'erased')").with(removed.as_str());
    store.write(removed).await.expect("written");
    *shop.gateway.typed.lock().expect("whole") = vec![
        typed(&mira(), "P1", HOUR),
        typed(&other, "P2", 3 * HOUR),
        typed(&mira(), "P3", HOUR / 2),
        typed(&mira(), "on its way", 10_000),
    ];
    assert_eq!(shop.repair().repair("shop").await.expect("works"), 7);
    let told: Vec<_> =
        shop.messages().await.into_iter().map(|it| (it.text, it.inbound.map(|it| it.outcome))).collect();
    let wanted = [
        ("text answered", Some(Outcome::HandedOver)),
        ("by hand P1", None),
        ("by hand P3", None),
        ("by hand on its way", None),
        ("text since then", Some(Outcome::LeftToHuman)),
    ];
    assert_eq!(told, wanted.map(|(text, outcome)| (text.to_owned(), outcome)));
    let taken = shop.conversation(&mira()).await;
    assert_eq!((taken.mode.mode, taken.mode.reason), (Mode::Human, Reason::AgentPhone));
    assert_eq!(
        (taken.attention, taken.waiting_since.is_some()),
        (None, true),
        "for what came since then alone"
    );
    let begun_by_hand = shop.conversation(&other).await;
    assert_eq!(begun_by_hand.mode.mode, Mode::Human);
    assert!(begun_by_hand.waiting_since.is_some(), "what was typed before answers nothing");
}

async fn who_wrote_on_the_phone_unheard_takes_over_though_no_message_was_missed<
    S: TestStore + Clone + 'static,
>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    shop.queue(&["heard"]);
    shop.poller("a").poll("shop").await.expect("works");
    *shop.gateway.typed.lock().expect("whole") = vec![
        typed(&mira(), "before us", 13 * HOUR),
        typed(&mira(), "P1", HOUR),
        typed(&mira(), "P2", 10_000),
    ];
    assert_eq!(shop.repair().repair("shop").await.expect("works"), 1);
    assert_eq!(shop.texts().await, ["text heard", "by hand P1"], "the other is on its way");
    let taken = shop.conversation(&mira()).await;
    assert_eq!((taken.mode.mode, taken.mode.reason), (Mode::Human, Reason::AgentPhone));
    // It never came.
    shop.gateway.typed.lock().expect("whole")[2] = typed(&mira(), "P2", HOUR / 12);
    store.schedule_repair("shop", 0).await.expect("writes");
    assert_eq!(shop.repair().repair("shop").await.expect("works"), 1);
    assert_eq!(shop.texts().await, ["text heard", "by hand P1", "by hand P2"]);
    store.schedule_repair("shop", 0).await.expect("writes");
    assert_eq!(shop.repair().repair("shop").await.expect("works"), 0, "nothing is missing any more");
}

async fn what_may_have_come_after_an_answer_on_the_phone_waits_for_another<S: TestStore + Clone + 'static>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    // Heard, and the last of it waits.
    let channel = shop.intake.channels.get("shop").expect("it is there");
    for incoming in [
        Incoming::Message(said("A1", 3 * HOUR)),
        Incoming::Phone(typed(&mira(), "P1", 3 * HOUR)),
        Incoming::Message(said("A2", HOUR)),
    ] {
        shop.intake.take_incoming(&channel, incoming).await.expect("works");
    }
    // Typed before it, and unheard; to others it was typed at once and read much later, which is what the provider shows.
    let mut all = vec![typed(&mira(), "P2", 2 * HOUR)];
    let others = [("6580000002@c.us", HOUR), ("6580000003@c.us", 10_000)];
    let others = others.map(|(chat, read_ms_ago)| (ChatId::parse(chat).expect("a chat id"), read_ms_ago));
    for (chat, read_ms_ago) in &others {
        let missed = |id: &str, ms_ago| Arrival { chat: chat.clone(), ..said(id, ms_ago) };
        let missed = [missed("B1", 2 * HOUR), missed("B2", 3 * HOUR / 2)];
        shop.gateway.journal.lock().expect("whole").extend(missed);
        all.push(typed(chat, "P3", *read_ms_ago));
    }
    *shop.gateway.typed.lock().expect("whole") = all;
    shop.repair().repair("shop").await.expect("works");
    assert_eq!(shop.texts().await.pop().as_deref(), Some("by hand P2"));
    for (chat, _) in [(mira(), 0)].iter().chain(&others) {
        let taken = shop.conversation(chat).await;
        assert_eq!((taken.mode.mode, taken.waiting_since.is_some()), (Mode::Human, true), "{chat}");
    }
}

async fn an_answer_on_the_phone_is_known_whichever_id_of_the_chat_it_is_shown_under<
    S: TestStore + Clone + 'static,
>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    let channel = shop.intake.channels.get("shop").expect("it is there");
    let ids = |n| [format!("658000000{n}@c.us"), format!("10000000000000{n}@lid")];
    let ids = |n: i64| ids(n).map(|id| ChatId::parse(&id).expect("a chat id"));
    let before = |chat: &ChatId, alias| {
        Incoming::Message(Arrival { chat: chat.clone(), alias, ..said("before", 3 * HOUR) })
    };
    let cases = [(1, "neither is known"), (2, "one has a conversation"), (3, "they share one")];
    for (n, case) in cases {
        let [number, hidden] = ids(n);
        match case {
            "one has a conversation" => {
                shop.intake.take_incoming(&channel, before(&number, None)).await.expect("works");
            }
            "they share one" => {
                let shows_both = before(&number, Some(hidden.clone()));
                shop.intake.take_incoming(&channel, shows_both).await.expect("works");
            }
            _ => {}
        }
        if case != "they share one" {
            shop.gateway.other_ids.lock().expect("whole").push((number.clone(), hidden.clone()));
        }
        let missed = Arrival { chat: hidden, ..said("missed", 2 * HOUR) };
        shop.gateway.journal.lock().expect("whole").push(missed);
        shop.gateway.typed.lock().expect("whole").push(typed(&number, "P1", HOUR));
    }
    shop.repair().repair("shop").await.expect("works");
    for (n, case) in cases {
        let [number, hidden] = ids(n);
        let found = store.conversation_of("shop", &hidden).await.expect("reads").expect("it has begun");
        assert_eq!(found.conversation.mode.mode, Mode::Human, "{case}");
        assert_eq!(found.conversation.id, shop.conversation(&number).await.id, "{case}");
        let messages = store.messages(found.conversation.id, Window::Newest, 9).await.expect("reads");
        let missed = messages.iter().find(|it| it.text == "text missed").expect("it was found");
        assert_eq!(missed.inbound.expect("a contact's").outcome, Outcome::HandedOver, "{case}");
    }
}

async fn what_came_before_a_restore_goes_to_a_person<S: TestStore + Clone + 'static>(store: &S) {
    let shop = Shop::open(store).await;
    let generation = restored::generation_at(NOW.plus_ms(-HOUR));
    let renewed = Statement::new("update installation set generation = $1").with(generation);
    store.write(renewed).await.expect("written");
    *shop.gateway.journal.lock().expect("whole") = vec![said("elsewhere", 2 * HOUR), said("here", HOUR / 2)];
    assert_eq!(shop.repair().repair("shop").await.expect("works"), 2);
    let wanted = [("text elsewhere", Outcome::HandedOver), ("text here", Outcome::Pending)];
    assert_eq!(fates(&shop).await, wanted.map(|(text, outcome)| (text.to_owned(), outcome)));
}

async fn what_the_store_refuses_does_not_hold_up_what_was_missed_beside_it<S: TestStore + Clone + 'static>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    let intake = shop.intake_over(Refusing(TestStore::ledger(store)));
    *shop.gateway.journal.lock().expect("whole") = vec![said("refused", 2 * HOUR), said("missed", HOUR)];
    *shop.gateway.typed.lock().expect("whole") =
        vec![typed(&mira(), "refused", HOUR / 2), typed(&mira(), "P1", HOUR / 2)];
    let repair = Repair { intake: Arc::new(intake), ..shop.repair() };
    assert_eq!(repair.repair("shop").await.expect("works"), 2);
    assert_eq!(shop.texts().await, ["text missed", "by hand P1"]);
}

async fn while_the_phone_is_not_linked_nothing_counts_as_looked_through<S: TestStore + Clone + 'static>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    shop.gateway.is_unlinked.store(true, Ordering::SeqCst);
    let repair = shop.repair();
    let result = repair.repair("shop").await;
    assert!(matches!(result, Err(repair::RepairError::NotLinked)), "{result:?}");
    let channels = store.channels().await.expect("reads");
    let state = channels.iter().find(|row| row.name == "shop").map(|row| row.state.as_str());
    assert_eq!(state, Some("notAuthorized"), "nor is that kept from anybody");
    shop.gateway.is_unlinked.store(false, Ordering::SeqCst);
    *shop.gateway.journal.lock().expect("whole") = vec![said("missed", 5 * HOUR)];
    store.schedule_repair("shop", 0).await.expect("writes");
    assert_eq!(repair.repair("shop").await.expect("works"), 1);
}

async fn a_phone_linked_again_makes_the_journal_due<S: TestStore + Clone + 'static>(store: &S) {
    let _shop = Shop::open(store).await;
    let due_in = async |ms| {
        let now = NOW.plus_ms(ms);
        store.claim_repair("shop", now, now.plus_ms(HOUR)).await.expect("writes").is_some()
    };
    assert!(due_in(0).await, "at first");
    assert!(!due_in(HOUR - 1).await, "then every hour");
    // By a clock that is an hour ahead of the store's, as a machine's may be.
    let ahead = NOW.plus_ms(HOUR);
    let keep = async |state| repair::keep_state(store, "shop", state, ahead).await.expect("writes");
    keep("notAuthorized").await;
    assert!(!due_in(HOUR - 1).await);
    keep("authorized").await;
    assert!(!due_in(60_000).await, "the webhooks that the provider kept come first");
    assert!(due_in(180_000).await);
}

async fn a_look_that_was_cut_is_made_again_by_another_and_one_that_was_not_every_hour<
    S: TestStore + Clone + 'static,
>(
    store: &S,
) {
    const LOOK: i64 = 600_000;
    let shop = Shop::open(store).await;
    *shop.gateway.journal.lock().expect("whole") = vec![said("missed", HOUR)];
    let due_in = async |ms| {
        let now = NOW.plus_ms(ms);
        store.claim_repair("shop", now, now.plus_ms(LOOK)).await.expect("writes").is_some()
    };
    // Told to stop while the gateway hangs.
    shop.gateway.hangs.store(true, Ordering::SeqCst);
    let due_at = async || {
        let asked = Statement::new("select repair_at from channels where name = 'shop'");
        let row = store.row(asked).await.expect("reads").expect("the channel");
        cell::<Time, _>(&row, "repair_at").expect("a time")
    };
    let is_claimed = async {
        while due_at().await <= NOW {
            tokio::task::yield_now().await;
        }
    };
    let repair = shop.repair();
    tokio::select! {
        _ = repair.repair("shop") => panic!("the gateway hangs"),
        () = is_claimed => {}
    }
    shop.gateway.hangs.store(false, Ordering::SeqCst);
    assert!(!due_in(LOOK - 1).await, "somebody looks");
    assert!(due_in(LOOK).await, "nobody has come to an end");
    store.schedule_repair("shop", 0).await.expect("writes");
    assert_eq!(shop.repair().repair("shop").await.expect("works"), 1);
    assert!(!due_in(HOUR - 1).await, "it was looked through");
    assert!(due_in(HOUR).await);
    // Wound while somebody looks: what they have seen is from before.
    store.schedule_repair("shop", 5).await.expect("writes");
    let (until, next) = (NOW.plus_ms(HOUR + LOOK), NOW.plus_ms(2 * HOUR));
    store.end_repair("shop", NOW, until, next).await.expect("writes");
    assert!(!due_in(4).await && due_in(5).await);
}
