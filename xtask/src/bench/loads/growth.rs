//! The same small load on a database that fills: what a message costs must not depend on how many others there are. The
//! limit of each size is the first one.

use anyhow::{Context as _, Result};

use super::{
    super::{
        fakes::chat_of,
        figures::{Figure, beside},
        session::{Kind, Measured, Session},
        stand::{Database, Stand},
    },
    Findings, OPEN, under,
};
use crate::fakes::names::Marker;

/// Conversations that are there when the load begins, each with as many messages of contact and assistant.
const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];
const SIZES_QUICK: [usize; 2] = [1_000, 10_000];
const MESSAGES: usize = 5;
/// One conversation takes some fifteen KiB, indices included.
const KIB_A_CONVERSATION: u64 = 16;
/// More in one transaction would fill the disk with the log of it.
const AT_ONCE: usize = 20_000;
const COPY: &str = include_str!("growth.sql");

pub(super) async fn run(stand: &Stand) -> Result<Findings> {
    let mut findings = Findings::default();
    if stand.postgres.is_none() {
        println!("growth is measured on PostgreSQL only");
        return Ok(findings);
    }
    let sizes: &[usize] = if stand.options.is_quick { &SIZES_QUICK } else { &SIZES };
    let mut database = write_original(stand).await?;
    stand.sql(&database.name, COPY)?;
    let chat = chat_of(0).id;
    let original =
        stand.sql(&database.name, &format!("select conversation_id from chats where chat_id = '{chat}'"))?;
    let (mut first, mut copied) = (Vec::new(), 0);
    for &size in sizes {
        if !has_room(stand, size - copied)? {
            println!("there is no room on the disk for {size} conversations: growth ends before");
            break;
        }
        copy(stand, &database, &original, copied, size)?;
        copied = size;
        let before = stand.rows_read(&database);
        let measured = once(stand, database, size).await?;
        let verdict = measured.verdict();
        let mut figures = measured.cost();
        figures.extend(measured.times(&verdict));
        database = measured.database.context("a Baton without a database")?;
        figures.extend(rows_read(before, stand.rows_read(&database), measured.records.written.len()));
        if first.is_empty() {
            first.clone_from(&figures);
        }
        let part = format!("{size}/");
        findings.figures.extend(under(&part, beside(figures, &first)));
        findings.add_wrongs(&part, verdict.wrongs);
    }
    Ok(findings)
}

/// One conversation by Baton itself, to be copied.
async fn write_original(stand: &Stand) -> Result<Database> {
    let mut session = Session::open(stand, Kind::Baton, (0, 0)).await?;
    for number in 0..MESSAGES {
        session.generator.write(Marker { contact: 0, number }).await;
        session.answered(number + 1).await?;
    }
    session.end()?.database.context("a Baton without a database")
}

fn copy(stand: &Stand, database: &Database, original: &str, from: usize, to: usize) -> Result<()> {
    for begin in (from..to).step_by(AT_ONCE) {
        let (first, last) = (begin + FIRST, (begin + AT_ONCE).min(to) + FIRST - 1);
        stand.sql(&database.name, &format!("select copy_conversation('{original}', {first}, {last})"))?;
    }
    stand.sql(&database.name, "analyze")?;
    stand.sql(&database.name, "checkpoint").map(|_| ())
}

/// The first contact whose conversation is a copy: behind the original.
const FIRST: usize = 1_000_000;

/// Contacts from everywhere among the copies write.
async fn once(stand: &Stand, database: Database, size: usize) -> Result<Measured> {
    let (contacts, messages) = if stand.options.is_quick { (100, 3) } else { (1_000, 3) };
    let mut session = Session::open_on(stand, Kind::Baton, Some(database), (0, 0)).await?;
    let step = size / contacts;
    // Numbers go up from one size to the next, so that none is a message that was there before.
    let numbers = size..size + messages;
    let order: Vec<Marker> = numbers
        .flat_map(|number| (0..contacts).map(move |at| Marker { contact: FIRST + at * step, number }))
        .collect();
    session.begin();
    let generator = session.generator.clone();
    session.drive(generator.flood(order, OPEN)).await?;
    session.answered(contacts * messages).await?;
    session.end()
}

/// What a message made PostgreSQL read, its share of the start included.
fn rows_read(before: Option<(f64, f64)>, after: Option<(f64, f64)>, messages: usize) -> Vec<Figure> {
    let Some((before, after)) = before.zip(after) else { return Vec::new() };
    let messages = super::super::figures::float(messages.max(1));
    vec![
        Figure::new("rows_read_end_to_end_a_message", (after.0 - before.0) / messages),
        Figure::new("rows_read_by_index_a_message", (after.1 - before.1) / messages),
    ]
}

fn has_room(stand: &Stand, conversations: usize) -> Result<bool> {
    let disk = rustix::fs::statvfs(stand.folder.path())?;
    Ok(disk.f_bavail * disk.f_frsize / 1_024 > u64::try_from(conversations)? * KIB_A_CONVERSATION)
}
