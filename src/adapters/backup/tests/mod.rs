//! Every table there and back, between both databases; files that are not as they were written; tables of older versions.

mod rows;

mod damage;

mod older;

mod seals;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use self::rows::fill;
use super::{
    tables::{GIVEN_ANEW, LEFT_OUT, TABLES},
    *,
};
use crate::{
    adapters::{
        sql::Statement,
        test_stores::{self, NOW, TestStore, bare_postgres, bare_sqlite, begun, from_us, on_both_stores},
    },
    domain::message::{Author, DeliveryState},
};

on_both_stores!(
    every_table_is_carried_or_stays_behind_by_name,
    a_backup_is_of_one_moment_while_others_write,
    more_rows_than_one_transaction_takes_come_back_in_their_order,
    a_database_is_whole_only_when_all_is_done,
    who_is_being_erased_has_nothing_unfinished,
);

/// The lines of a file, unpacked.
fn lines(file: &[u8]) -> Vec<String> {
    use std::io::BufRead as _;
    let unpacked = io::BufReader::new(flate2::read::GzDecoder::new(file));
    unpacked.lines().map(|line| line.expect("text")).collect()
}

/// What a file holds of each table: each row by its columns. Of the feed the order counts, of the rest it does not.
fn held(file: &[u8]) -> BTreeMap<String, Vec<String>> {
    let mut held: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut table, mut columns) = (String::new(), Value::Null);
    for line in lines(file) {
        let line: Value = serde_json::from_str(&line).expect("JSON");
        if let Some(name) = line["table"].as_str() {
            (table, columns) = (name.to_owned(), line["columns"].clone());
            held.insert(name.to_owned(), Vec::new());
        }
        if let Some(row) = line.as_array() {
            let columns = columns.as_array().expect("columns").iter();
            let row: BTreeMap<&str, &Value> =
                columns.map(|column| column.as_str().expect("a name")).zip(row).collect();
            held.entry(table.clone()).or_default().push(serde_json::to_string(&row).expect("JSON"));
        }
    }
    for (_, rows) in held.iter_mut().filter(|(table, _)| *table != "events") {
        rows.sort_unstable();
    }
    held
}

async fn saved<D: Movable>(store: &D) -> Vec<u8> {
    let mut file = Vec::new();
    save(store, None, &mut file).await.expect("it can be saved");
    file
}

async fn loaded<D: Movable>(store: &D, file: &[u8]) {
    let (head, _) = verify(file).expect("it is whole");
    let (_, read) = Read::begin(file).expect("it begins");
    load(store, head.schema, read).await.expect("it can be loaded");
    store.migrate_to(D::newest()).await.expect("migrated");
    renew(store, "anew", "another").await.expect("renewed");
}

async fn tables_of<D: Movable>(store: &D) -> BTreeSet<String> {
    let mut session = store.reading().await.expect("a connection");
    let asked = match D::ENGINE {
        Engine::Postgres => "select tablename::text from pg_tables where schemaname = current_schema()",
        Engine::Sqlite => "select name from sqlite_schema where type = 'table' and name not like 'sqlite%'",
    };
    let all = all(&mut session, asked.to_owned()).await.expect("the catalogue");
    all.into_iter().filter(|name| !name.starts_with("_sqlx")).collect()
}

async fn columns_of<D: Movable>(store: &D, table: &str) -> BTreeSet<String> {
    let mut session = store.reading().await.expect("a connection");
    let asked = match D::ENGINE {
        Engine::Postgres => format!(
            "select column_name::text from information_schema.columns where table_schema = current_schema() \
             and table_name = '{table}'"
        ),
        Engine::Sqlite => format!("select name from pragma_table_info('{table}')"),
    };
    all(&mut session, asked).await.expect("the catalogue").into_iter().collect()
}

async fn every_table_is_carried_or_stays_behind_by_name<D: Movable + TestStore>(store: &D) {
    let named: BTreeSet<String> = TABLES.iter().chain(LEFT_OUT).map(|&name| name.to_owned()).collect();
    assert_eq!(tables_of(store).await, named, "a new table is to be carried, or to be left out for a reason");
    let renewed = ["one", "id", "generation", "forgotten_xact", "forgotten_id", "retained_at", "xact_offset"]
        .map(str::to_owned);
    assert_eq!(
        columns_of(store, "installation").await,
        BTreeSet::from(renewed),
        "what else an installation knows of itself would stay behind"
    );
    fill(store).await;
    let held = held(&saved(store).await);
    for table in TABLES {
        let rows = held.get(*table).map_or(0, Vec::len);
        assert!(rows > 0, "{table}: `fill` puts nothing into it, so nothing shows that it comes back");
        let mut carried: BTreeSet<String> = serde_json::from_str::<BTreeMap<String, Value>>(&held[*table][0])
            .expect("a row")
            .into_keys()
            .collect();
        carried
            .extend(GIVEN_ANEW.iter().filter(|(of, _)| of == table).map(|(_, column)| (*column).to_owned()));
        let has = columns_of(store, table).await;
        assert!(has.is_subset(&carried), "{table}: {:?} stay behind", has.difference(&carried));
    }
}

/// From one database into another and back: what comes out at the end is what went in.
async fn there_and_back<From: Movable + TestStore, To: Movable + TestStore>(from: &From, to: &To) {
    fill(from).await;
    let file = saved(from).await;
    loaded(to, &file).await;
    let again = saved(to).await;
    assert_eq!(held(&again), held(&file));
    let (before, after) = (verify(&*file).expect("whole").0, verify(&*again).expect("whole").0);
    assert_ne!(before.installation, after.installation);
    assert_eq!((before.schema, after.schema), (From::newest(), To::newest()));
    assert_eq!(before.made_at, test_stores::NOW.0);
}

#[tokio::test]
async fn what_sqlite_wrote_comes_back_in_either_database() {
    let (from, _one) = test_stores::sqlite().await;
    let (to, _other) = bare_sqlite().await;
    there_and_back(&from, &to).await;
    let (from, _one) = test_stores::sqlite().await;
    let (to, database) = test_stores::postgres().await;
    there_and_back(&from, &to).await;
    database.remove(to).await;
}

#[tokio::test]
async fn what_postgresql_wrote_comes_back_in_either_database() {
    let (from, of) = test_stores::postgres().await;
    let (to, database) = bare_postgres().await;
    there_and_back(&from, &to).await;
    database.remove(to).await;
    of.remove(from).await;
    let (from, of) = test_stores::postgres().await;
    let (to, _folder) = test_stores::sqlite().await;
    there_and_back(&from, &to).await;
    of.remove(from).await;
}

async fn a_backup_is_of_one_moment_while_others_write<D: Movable + TestStore>(store: &D) {
    use crate::adapters::sql::Part as One;
    fill(store).await;
    // What was saved of a conversation's number and of its labels was written together, or not at all.
    let is_done = std::cell::Cell::new(false);
    let write = async {
        for number in (1_i64..).take_while(|_| !is_done.get()) {
            let label =
                Statement::new("insert into labels (id, name, folded, created_at) values ($1, $1, $1, 0)");
            let counted = Statement::new("update agents set updated_at = $1");
            let both = vec![One::Must(label.with(format!("n{number}"))), One::Must(counted.with(number))];
            assert!(store.write_together(both).await.expect("written"));
        }
    };
    let read = async {
        let mut seen = BTreeSet::new();
        while seen.len() < 4 {
            let held = held(&saved(store).await);
            let labels = held["labels"].iter().filter(|row| row.contains("\"folded\":\"n")).count();
            let agent: Value = serde_json::from_str(&held["agents"][0]).expect("a row");
            let counted = agent["updated_at"].as_i64().expect("a number");
            if labels > 0 {
                assert_eq!(i64::try_from(labels).expect("few"), counted);
            }
            seen.insert(labels);
        }
        is_done.set(true);
    };
    tokio::join!(write, read);
}

async fn more_rows_than_one_transaction_takes_come_back_in_their_order<D: Movable + TestStore>(store: &D) {
    use crate::domain::event::EventType;
    let events = (1..=2_500).map(|number| {
        test_stores::event(None, Some(number), EventType::ChannelUpdated, crate::domain::time::Time(number))
    });
    store.keep_events(events.collect()).await;
    // One that is larger than all that goes together otherwise.
    let mut letter = test_stores::letter("shop", crate::domain::turn::LetterKind::Webhook, test_stores::NOW);
    letter.payload = serde_json::Value::from("\u{1f984}\n\"".repeat(1_000_000)).into();
    store.keep_letters(vec![letter]).await;
    let file = saved(store).await;
    let (to, _folder) = bare_sqlite().await;
    loaded(&to, &file).await;
    assert_eq!(held(&saved(&to).await), held(&file));
    let (to, database) = bare_postgres().await;
    loaded(&to, &file).await;
    assert_eq!(held(&saved(&to).await), held(&file));
    database.remove(to).await;
}

async fn a_database_is_whole_only_when_all_is_done<D: Movable + TestStore>(store: &D) {
    fill(store).await;
    let file = saved(store).await;
    let (to, _folder) = bare_sqlite().await;
    assert!(!is_half_done(&to).await.expect("asked"), "it has no tables");
    let found = look(&to).await.expect("looked");
    assert_eq!(found, Found { schema: 0, is_half_done: false, rows: Vec::new() });

    // The file ends in the middle, after it was found whole.
    let (head, _) = verify(&*file).expect("whole");
    let (_, read) = Read::begin(&file[..file.len() - 20]).expect("it begins");
    let cut = load(&to, head.schema, read).await.expect_err("cut off");
    assert!(matches!(cut, Error::Damaged(_)), "{cut}");
    assert!(is_half_done(&to).await.expect("asked"));
    let found = look(&to).await.expect("looked");
    assert!(found.is_half_done && !found.rows.is_empty());

    loaded(&to, &file).await;
    assert!(!is_half_done(&to).await.expect("asked"));
    assert_eq!(held(&saved(&to).await), held(&file), "nothing of the first try is left");
}

async fn who_is_being_erased_has_nothing_unfinished<D: Movable + TestStore>(store: &D) {
    let (stays, goes) = (begun("shop", "6580000001@c.us"), begun("shop", "6580000002@c.us"));
    for conversation in [&stays, &goes] {
        store.keep_conversation(conversation).await;
        let owed = from_us(1, Author::Assistant, "Two condos.", NOW, DeliveryState::Sending);
        store.keep_messages(conversation, vec![owed]).await;
    }
    let both: Vec<_> = BTreeSet::from([stays.id, goes.id]).into_iter().collect();
    assert_eq!(unfinished(store).await.expect("asked"), both);
    let erasing = Statement::new("update conversations set erased_at = 1 where id = $1").with(goes.id);
    store.write(erasing).await.expect("written");
    assert_eq!(unfinished(store).await.expect("asked"), [stays.id]);
}
