//! Numbers by hour or day: counted by the database, one statement a kind of number.

use serde_json::{Map, Value};

use super::follow_ups::WITHDRAWN;
use crate::{
    adapters::sql::{Statement, Store, cell},
    domain::time::Time,
    flow::{
        archive::{Bucket, Usage},
        ledger::Error,
    },
};

/// Most buckets of an answer: a year by the hour is 8,784.
const BUCKETS_MAX: i64 = 10_000;

/// Times a contact began to wait, and the first answer. A wait begins with a message that may start a turn, if what
/// was said last before it, by either side, was said by us (or nothing was). What nobody is to answer begins none and
/// stands before none: or the wait of the next would begin with "thanks", a week ago. It ends with the next message of
/// our side that left, in the order of the conversation; one typed on the phone left when it was written. Words of the
/// settings answer nothing, nor do last words that say that somebody comes: the contact waits on. Waits count where
/// they began; those without an answer yet count nowhere. `human` holds those that a person answered first.
const WAITS: &str = "with waits as ( \
    select m.conversation_id, m.seq, m.at, (m.at - $1) / $3 as bucket from messages m \
    where m.at >= $1 and m.at < $2 and m.starts_turn and m.outcome <> 'ignored' \
    and coalesce((select p.author from messages p \
        where p.conversation_id = m.conversation_id and p.seq < m.seq \
        and ((p.starts_turn and p.outcome <> 'ignored') \
            or (p.author not in ('contact', 'system') and coalesce(p.gate, '') <> 'farewell' \
                and p.kind <> 'note' and (p.state is null or p.sent_at is not null))) \
        order by p.seq desc limit 1), 'nobody') <> 'contact'";

const ANSWERS: &str = "), answers as ( \
    select w.bucket, a.author, coalesce(a.sent_at, a.at) - w.at as ms \
    from waits w join messages a on a.id = (select n.id from messages n \
        where n.conversation_id = w.conversation_id and n.seq > w.seq \
        and n.author not in ('contact', 'system') and coalesce(n.gate, '') <> 'farewell' \
        and n.kind <> 'note' and (n.state is null or n.sent_at is not null) \
        order by n.seq limit 1) \
    ), named as ( \
    select bucket, 'first' as whose, ms from answers \
    union all \
    select bucket, 'human' as whose, ms from answers where author = 'agent' \
    ), ranked as ( \
    select bucket, whose, ms, row_number() over (partition by bucket, whose order by ms) as place, \
        count(*) over (partition by bucket, whose) as total from named \
    ) \
    select bucket, whose, min(ms) filter (where place >= (total + 1) / 2) as p50, \
        min(ms) filter (where place >= (total * 9 + 9) / 10) as p90 \
    from ranked group by bucket, whose";

/// Whether nothing of a turn was sent: it wrote for nobody, or all that it wrote was withdrawn before it left, as when a
/// newer message came while the first part was typed. Its words have the moment of its end: they are found by that.
const WASTED: &str = "(t.wasted or coalesce((select min(case when w.state = 'cancelled' then 1 else 0 end) \
        from messages w where w.at = t.ended_at and w.turn_id = t.id and w.author <> 'contact'), 0) = 1) as wasted";

/// How far drafts were changed before they were sent, those that were changed at all.
const EDITED: &str = "with edited as ( \
    select (d.created_at - $1) / $3 as bucket, d.edit_distance as words \
    from drafts d join conversations c on c.id = d.conversation_id \
    where d.created_at >= $1 and d.created_at < $2 and d.state = 'edited'";

const DISTANCES: &str = "), ranked as ( \
    select bucket, words, row_number() over (partition by bucket order by words) as place, \
        count(*) over (partition by bucket) as total from edited \
    ) \
    select bucket, min(words) filter (where place >= (total + 1) / 2) as p50, \
        min(words) filter (where place >= (total * 9 + 9) / 10) as p90 \
    from ranked group by bucket";

/// From when to when, in steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    from: Time,
    to: Time,
    step_ms: i64,
}

impl Span {
    /// Refuses steps that are no steps, and more of them than anyone reads.
    pub(super) fn new(from: Time, to: Time, step_ms: i64) -> Result<Self, Error> {
        let span = Self { from, to, step_ms };
        if step_ms <= 0 || span.buckets() > BUCKETS_MAX {
            return Err(Error::Refused("the steps are none, or too many".into()));
        }
        Ok(span)
    }

    fn buckets(&self) -> i64 {
        let whole = self.to.since(self.from).max(0);
        whole / self.step_ms + i64::from(whole % self.step_ms > 0)
    }

    fn empty(&self) -> Vec<Bucket> {
        (0..self.buckets())
            .map(|n| Bucket {
                from: self.from.plus_ms(n * self.step_ms),
                conversations: 0,
                outcomes: Map::new(),
                turns: Map::new(),
                follow_ups: Map::new(),
                drafts: Map::new(),
                draft_edit_distance: None,
                first_answer_ms: None,
                human_answer_ms: None,
                usage: Vec::new(),
            })
            .collect()
    }

    /// A statement whose text names the beginning `$1`, the end `$2` and the step `$3`.
    fn statement(&self, text: &'static str) -> Statement {
        Statement::new(text).with(self.from).with(self.to).with(self.step_ms)
    }
}

/// A bucket for each step, those in which nothing happened too. A message counts when it came, a turn when it ended,
/// a follow-up when it was due, a draft when it was written.
pub(super) async fn buckets<S: Store>(
    store: &S,
    span: Span,
    channels: Option<&[String]>,
) -> Result<Vec<Bucket>, Error> {
    let mut buckets = span.empty();
    if buckets.is_empty() {
        return Ok(buckets);
    }
    conversations(store, span, channels, &mut buckets).await?;
    outcomes(store, span, channels, &mut buckets).await?;
    turns(store, span, channels, &mut buckets).await?;
    follow_ups(store, span, channels, &mut buckets).await?;
    drafts(store, span, channels, &mut buckets).await?;
    answers(store, span, channels, &mut buckets).await?;
    Ok(buckets)
}

async fn conversations<S: Store>(
    store: &S,
    span: Span,
    channels: Option<&[String]>,
    buckets: &mut [Bucket],
) -> Result<(), Error> {
    let mut statement = span.statement(
        "select (m.at - $1) / $3 as bucket, count(distinct m.conversation_id) as found from messages m \
         where m.at >= $1 and m.at < $2 and m.author = 'contact'",
    );
    only::<S>(&mut statement, " and m.channel", channels).push(" group by 1");
    for row in store.rows(statement).await? {
        bucket::<S>(buckets, &row)?.conversations = cell(&row, "found")?;
    }
    Ok(())
}

async fn outcomes<S: Store>(
    store: &S,
    span: Span,
    channels: Option<&[String]>,
    buckets: &mut [Bucket],
) -> Result<(), Error> {
    let mut statement = span.statement(
        "select (m.at - $1) / $3 as bucket, m.outcome as word, count(*) as found from messages m \
         where m.at >= $1 and m.at < $2 and m.outcome is not null",
    );
    only::<S>(&mut statement, " and m.channel", channels).push(" group by 1, 2");
    for row in store.rows(statement).await? {
        bucket::<S>(buckets, &row)?.outcomes.insert(cell(&row, "word")?, found::<S>(&row)?);
    }
    Ok(())
}

async fn turns<S: Store>(
    store: &S,
    span: Span,
    channels: Option<&[String]>,
    buckets: &mut [Bucket],
) -> Result<(), Error> {
    let mut statement = span.statement(
        "select (t.ended_at - $1) / $3 as bucket, t.state as word, count(*) as found \
         from turns t join conversations c on c.id = t.conversation_id where t.ended_at >= $1 and t.ended_at < $2",
    );
    only::<S>(&mut statement, " and c.channel", channels).push(" group by 1, 2");
    for row in store.rows(statement).await? {
        bucket::<S>(buckets, &row)?.turns.insert(cell(&row, "word")?, found::<S>(&row)?);
    }
    let mut statement = span.statement("select (t.ended_at - $1) / $3 as bucket, t.model, ");
    statement.push(WASTED).push(
        ", cast(sum(t.input_tokens) as bigint) as input_tokens, cast(sum(t.output_tokens) as bigint) as output_tokens \
         from turns t join conversations c on c.id = t.conversation_id where t.ended_at >= $1 and t.ended_at < $2",
    );
    only::<S>(&mut statement, " and c.channel", channels).push(" group by 1, 2, 3 order by 1, 2, 3");
    for row in store.rows(statement).await? {
        let usage = usage::<S>(&row)?;
        bucket::<S>(buckets, &row)?.usage.push(usage);
    }
    Ok(())
}

/// Tokens of a channel since then, by model.
pub(super) async fn spent<S: Store>(store: &S, channel: &str, since: Time) -> Result<Vec<Usage>, Error> {
    let statement = Statement::new(
        "select t.model, t.wasted, cast(sum(t.input_tokens) as bigint) as input_tokens, \
         cast(sum(t.output_tokens) as bigint) as output_tokens \
         from turns t join conversations c on c.id = t.conversation_id \
         where t.ended_at >= $1 and c.channel = $2 group by 1, 2 order by 1, 2",
    );
    store.rows(statement.with(since).with(channel)).await?.iter().map(usage::<S>).collect()
}

/// Follow-ups of a channel whose attempt began then, but for those that certainly did not leave.
pub(super) async fn proactive<S: Store>(
    store: &S,
    channel: &str,
    from: Time,
    to: Time,
) -> Result<i64, Error> {
    let statement = Statement::new(
        "select count(*) as found from messages m \
         where m.lane = 'proactive' and m.channel = $1 and m.attempt_at >= $2 and m.attempt_at < $3 \
         and m.state in ('sending', 'sent', 'delivered', 'read', 'unknown')",
    );
    let row = store.row(statement.with(channel).with(from).with(to)).await?;
    row.map_or(Ok(0), |row| cell(&row, "found"))
}

fn usage<S: Store>(row: &S::Row) -> Result<Usage, Error> {
    Ok(Usage {
        model: cell(row, "model")?,
        wasted: cell(row, "wasted")?,
        input_tokens: cell(row, "input_tokens")?,
        output_tokens: cell(row, "output_tokens")?,
    })
}

async fn follow_ups<S: Store>(
    store: &S,
    span: Span,
    channels: Option<&[String]>,
    buckets: &mut [Bucket],
) -> Result<(), Error> {
    let mut statement = span.statement(
        "select (f.due_at - $1) / $3 as bucket, count(*) as found, \
         case when f.state = 'sent' and m.id is not null then 'withheld' else f.state end as word \
         from follow_ups f join conversations c on c.id = f.conversation_id ",
    );
    statement.push(WITHDRAWN);
    // Naming every state lets the index on (state, due_at) find the rows.
    statement.push(
        " where f.state in ('pending', 'sent', 'cancelled', 'withheld') and f.due_at >= $1 and f.due_at < $2",
    );
    only::<S>(&mut statement, " and c.channel", channels).push(" group by 1, 3");
    for row in store.rows(statement).await? {
        bucket::<S>(buckets, &row)?.follow_ups.insert(cell(&row, "word")?, found::<S>(&row)?);
    }
    Ok(())
}

async fn drafts<S: Store>(
    store: &S,
    span: Span,
    channels: Option<&[String]>,
    buckets: &mut [Bucket],
) -> Result<(), Error> {
    let mut statement = span.statement(
        "select (d.created_at - $1) / $3 as bucket, d.state as word, count(*) as found \
         from drafts d join conversations c on c.id = d.conversation_id \
         where d.created_at >= $1 and d.created_at < $2",
    );
    only::<S>(&mut statement, " and c.channel", channels).push(" group by 1, 2");
    for row in store.rows(statement).await? {
        bucket::<S>(buckets, &row)?.drafts.insert(cell(&row, "word")?, found::<S>(&row)?);
    }
    let mut statement = span.statement(EDITED);
    only::<S>(&mut statement, " and c.channel", channels).push(DISTANCES);
    for row in store.rows(statement).await? {
        let distance = (cell(&row, "p50")?, cell(&row, "p90")?);
        bucket::<S>(buckets, &row)?.draft_edit_distance = Some(distance);
    }
    Ok(())
}

async fn answers<S: Store>(
    store: &S,
    span: Span,
    channels: Option<&[String]>,
    buckets: &mut [Bucket],
) -> Result<(), Error> {
    let mut statement = span.statement(WAITS);
    only::<S>(&mut statement, " and m.channel", channels).push(ANSWERS);
    for row in store.rows(statement).await? {
        let percentiles = (cell::<i64, _>(&row, "p50")?.max(0), cell::<i64, _>(&row, "p90")?.max(0));
        let bucket = bucket::<S>(buckets, &row)?;
        match cell::<String, _>(&row, "whose")?.as_str() {
            "human" => bucket.human_answer_ms = Some(percentiles),
            _ => bucket.first_answer_ms = Some(percentiles),
        }
    }
    Ok(())
}

/// Narrows to channels, if it matters.
pub(super) fn only<'s, S: Store>(
    statement: &'s mut Statement,
    and_column: &'static str,
    channels: Option<&[String]>,
) -> &'s mut Statement {
    match channels {
        Some(channels) => statement.push(and_column).one_of(S::ENGINE, channels.to_vec()),
        None => statement,
    }
}

fn found<S: Store>(row: &S::Row) -> Result<Value, Error> {
    cell::<i64, _>(row, "found").map(Value::from)
}

fn bucket<'b, S: Store>(buckets: &'b mut [Bucket], row: &S::Row) -> Result<&'b mut Bucket, Error> {
    let number: i64 = cell(row, "bucket")?;
    let bucket = usize::try_from(number).ok().and_then(|number| buckets.get_mut(number));
    bucket.ok_or_else(|| {
        Error::Refused(format!("the database counted a bucket {number} outside the span").into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_that_ends_within_a_step_has_a_bucket_for_the_rest() {
        let count =
            |from, to, step| Span::new(Time(from), Time(to), step).map(|span| span.empty().len()).ok();
        for (from, to, step, wanted) in [
            (0, 0, 10, Some(0)),
            (0, 10, 10, Some(1)),
            (0, 11, 10, Some(2)),
            (5, 0, 10, Some(0)),
            (0, 10, 0, None),
            (0, 10, -1, None),
            (0, i64::MAX, 1, None),
        ] {
            assert_eq!(count(from, to, step), wanted, "{from} to {to} by {step}");
        }
    }
}
