//! How much waits, now: one statement, made of a count for each kind of thing. Each is answered by a partial index, or looks
//! at a few rows: what takes longer the more there is of everything is asked apart, or alerts would go blind with it.

use super::{follow_ups::owed, statistics::only};
use crate::{
    adapters::sql::{Statement, Store, cell, may_send},
    domain::{
        conversation::AttentionReason, endpoint::Health, lane::Lane, mode::Mode, time::Time, turn::LetterKind,
    },
    flow::{archive::Depths, ledger::Error},
};

/// One count: its text, the column of its channel, and what it is grouped by. What has no channel is counted for callers who
/// may see all.
struct Count {
    text: &'static str,
    and_channel: &'static str,
    group: &'static str,
}

/// What is counted. `open` and the states are the words of partial indexes. What is being sent is still owed.
///
/// What waits on a channel that cannot send (`outbox::is_able`) is counted, but has no age: that the channel is not linked is
/// told by itself, and one phone that is off for a week would hide whatever else stands still.
const COUNTS: [Count; 6] = [
    Count {
        text: concat!(
            "select 'inbox' as what, '' as word, count(*) as found, min(case when ",
            may_send!(),
            " then m.at end) as oldest \
             from messages m left join channels h on h.name = m.channel where m.open and m.outcome = 'pending'"
        ),
        and_channel: " and m.channel",
        group: "",
    },
    Count {
        // What the brake holds is owed, but nobody waits for it to move; nor for a follow-up until quiet hours are over.
        text: concat!(
            "select 'outbox' as what, m.lane as word, count(*) as found, min(case when not ",
            may_send!(),
            " then null \
             when m.lane <> 'proactive' then m.queued_at when h.braked_at is null then m.due_at end) as oldest \
             from messages m left join channels h on h.name = m.channel \
             where m.open and m.state in ('queued', 'sending')"
        ),
        and_channel: " and m.channel",
        group: " group by m.lane",
    },
    Count {
        text: "select 'letters' as what, l.kind as word, count(*) as found, min(l.last_at) as oldest \
               from dead_letters l where l.state = 'open'",
        and_channel: " and l.channel",
        group: " group by l.kind",
    },
    Count {
        text: "select 'attention' as what, c.attention as word, count(*) as found, min(c.attention_since) as oldest \
               from conversations c where c.attention is not null",
        and_channel: " and c.channel",
        group: " group by c.attention",
    },
    Count {
        // What waits to leave is pending as well, as in the list.
        text: concat!(
            "select 'follow_ups' as what, '' as word, count(*) as found, min(p.due_at) as oldest \
             from (select f.conversation_id, f.due_at from follow_ups f where f.state = 'pending' \
             union all select f.conversation_id, f.due_at from messages m cross join follow_ups f where ",
            owed!(),
            ") p join conversations c on c.id = p.conversation_id"
        ),
        and_channel: " and c.channel",
        group: "",
    },
    Count {
        text: "select 'endpoints' as what, \
               case when e.state = 'active' and e.failing_since is not null then 'failing' else e.state end as word, \
               count(*) as found, min(e.failing_since) as oldest from endpoints e",
        and_channel: "",
        group: " group by 2",
    },
];

/// How much waits.
pub(super) async fn now<S: Store>(store: &S, channels: Option<&[String]>) -> Result<Depths, Error> {
    let mut statement = Statement::new("select counted.*, ");
    statement.now(store).push(" as read_at from (");
    let counts = COUNTS.iter().filter(|count| channels.is_none() || !count.and_channel.is_empty());
    for (n, count) in counts.enumerate() {
        statement.push(if n == 0 { "" } else { " union all " }).push(count.text);
        only::<S>(&mut statement, count.and_channel, channels).push(count.group);
    }
    statement.push(") counted");
    let mut depths = nothing();
    for row in store.rows(statement).await? {
        let word: String = cell(&row, "word")?;
        let found: i64 = cell(&row, "found")?;
        let oldest: Option<Time> = cell(&row, "oldest")?;
        let read_at: Time = cell(&row, "read_at")?;
        let age = oldest.map_or(0, |oldest| read_at.since(oldest).max(0));
        match cell::<String, _>(&row, "what")?.as_str() {
            "inbox" => depths.inbox = (found, age),
            "outbox" => {
                set(&mut depths.outbox, word, found);
                depths.outbox_oldest_ms = depths.outbox_oldest_ms.max(age);
            }
            "letters" => set(&mut depths.letters, word, found),
            "attention" => {
                set(&mut depths.attention, word, found);
                depths.attention_oldest_ms = depths.attention_oldest_ms.max(age);
            }
            "endpoints" => set(&mut depths.endpoints, word, found),
            _ => depths.follow_ups = found,
        }
    }
    Ok(depths)
}

/// How many conversations there are, by mode: every row of theirs is looked at.
pub(super) async fn modes<S: Store>(
    store: &S,
    channels: Option<&[String]>,
) -> Result<Vec<(String, i64)>, Error> {
    let mut statement = Statement::new(
        "select c.mode as word, count(*) as found from conversations c where c.erased_at is null",
    );
    only::<S>(&mut statement, " and c.channel", channels).push(" group by c.mode");
    let mut modes = Mode::ALL.iter().map(|mode| (mode.as_str().to_owned(), 0)).collect();
    for row in store.rows(statement).await? {
        set(&mut modes, cell(&row, "word")?, cell(&row, "found")?);
    }
    Ok(modes)
}

/// Every word of each vocabulary with 0: a gauge that fell to nothing must say so.
fn nothing() -> Depths {
    let zero =
        |words: &mut dyn Iterator<Item = &'static str>| words.map(|word| (word.to_owned(), 0)).collect();
    Depths {
        outbox: zero(&mut Lane::ALL.iter().map(|lane| lane.as_str())),
        letters: zero(&mut LetterKind::ALL.iter().map(|kind| kind.as_str())),
        attention: zero(&mut AttentionReason::ALL.iter().map(|reason| reason.as_str())),
        endpoints: zero(&mut Health::ALL.iter().map(|health| health.as_str())),
        ..Depths::default()
    }
}

fn set(counts: &mut Vec<(String, i64)>, word: String, found: i64) {
    match counts.iter_mut().find(|(known, _)| *known == word) {
        Some((_, count)) => *count = found,
        None => counts.push((word, found)),
    }
}
