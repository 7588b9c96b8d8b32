//! Numbers by hour or day: counted by the database, one statement a kind of number.

use async_trait::async_trait;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{depths, follow_ups::NOT_LEFT, read_limit::ReadLimit, turns::none_left, waits};
use crate::{
    adapters::{
        purge,
        sql::{Statement, Store, cell},
    },
    domain::time::Time,
    flow::{
        archive::{Bucket, Depths, Statistics, Usage},
        ledger::Error,
        spending::Used,
    },
};

/// Most buckets of an answer: a year by the hour is 8,784.
const BUCKETS_MAX: i64 = 10_000;

/// A statement counts no longer a time than this, or one step: whatever a month holds, each ends long before the database
/// ends it.
const PART_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// Of them all.
pub(super) static TURNS: ReadLimit = ReadLimit::new();

/// Turns of which nothing was sent though words were: all that one wrote was withdrawn before it left, as when a newer message
/// came while the first part was typed, or given up. Its words have the moment of its end: they are found by that.
const UNSENT: &str = concat!(
    "with unsent as ( \
     select w.turn_id, w.at from messages w \
     where w.at >= $1 and w.at < $2 and w.turn_id is not null and w.state is not null \
     group by w.turn_id, w.at ",
    none_left!(),
    ")"
);

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

    /// One after the other, of whole steps each.
    fn parts(self) -> impl Iterator<Item = Self> {
        let part_ms = (PART_MS / self.step_ms).max(1) * self.step_ms;
        let starts = (0..self.buckets()).map(move |n| n * self.step_ms).filter(move |ms| ms % part_ms == 0);
        starts.map(move |ms| {
            let from = self.from.plus_ms(ms);
            Self { from, to: self.to.min(from.plus_ms(part_ms)), ..self }
        })
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
    pub(super) fn statement(&self, text: &'static str) -> Statement {
        Statement::new(text).with(self.from).with(self.to).with(self.step_ms)
    }
}

#[async_trait]
impl<S: Store> Statistics for S {
    // A bucket for each step, those in which nothing happened too. A message counts when it came, a turn when it ended,
    // a follow-up when it was due, a draft when it was written.
    async fn buckets(
        &self,
        from: Time,
        to: Time,
        step_ms: i64,
        channels: Option<&[String]>,
    ) -> Result<Vec<Bucket>, Error> {
        let span = Span::new(from, to, step_ms)?;
        let _turn = TURNS.turn().await?;
        let mut buckets = Vec::new();
        for part in span.parts() {
            let counting = Counting { store: self, span: part, channels, buckets: part.empty() };
            buckets.extend(counting.count().await?);
        }
        Ok(buckets)
    }

    async fn depths(&self, channels: Option<&[String]>) -> Result<Depths, Error> {
        depths::now(self, channels).await
    }

    async fn modes(&self, channels: Option<&[String]>) -> Result<Vec<(String, i64)>, Error> {
        depths::modes(self, channels).await
    }

    async fn used(&self, conversation: Uuid) -> Result<Vec<Usage>, Error> {
        let statement = Statement::new(
            "select t.model, t.wasted, cast(sum(t.input_tokens) as bigint) as input_tokens, \
             cast(sum(t.output_tokens) as bigint) as output_tokens \
             from turns t where t.conversation_id = $1 group by 1, 2 order by 1, 2",
        );
        self.rows(statement.with(conversation)).await?.iter().map(usage::<S>).collect()
    }

    // Follow-ups of a channel whose attempt began then, but for those that certainly did not leave.
    async fn proactive(&self, channel: &str, from: Time, to: Time) -> Result<i64, Error> {
        let statement = Statement::new(
            "select count(*) as found from messages m \
             where m.lane = 'proactive' and m.channel = $1 and m.attempt_at >= $2 and m.attempt_at < $3 \
             and m.state in ('sending', 'sent', 'delivered', 'read', 'unknown')",
        );
        let row = self.row(statement.with(channel).with(from).with(to)).await?;
        row.map_or(Ok(0), |row| cell(&row, "found"))
    }
}

/// What is counted of one part: of which channels, into which buckets.
pub(super) struct Counting<'a, S> {
    store: &'a S,
    pub(super) span: Span,
    channels: Option<&'a [String]>,
    buckets: Vec<Bucket>,
}

impl<S: Store> Counting<'_, S> {
    async fn count(mut self) -> Result<Vec<Bucket>, Error> {
        self.conversations().await?;
        self.outcomes().await?;
        self.turns().await?;
        self.usage().await?;
        self.follow_ups().await?;
        self.drafts().await?;
        self.draft_edit_distances().await?;
        waits::count(&mut self).await?;
        Ok(self.buckets)
    }

    async fn conversations(&mut self) -> Result<(), Error> {
        let statement = self.span.statement(
            "select (m.at - $1) / $3 as bucket, count(distinct m.conversation_id) as found from messages m \
             where m.at >= $1 and m.at < $2 and m.author = 'contact'",
        );
        for row in self.rows(statement, " and m.channel", " group by 1").await? {
            self.bucket(&row)?.conversations = cell(&row, "found")?;
        }
        Ok(())
    }

    async fn outcomes(&mut self) -> Result<(), Error> {
        let statement = self.span.statement(
            "select (m.at - $1) / $3 as bucket, m.outcome as word, count(*) as found from messages m \
             where m.at >= $1 and m.at < $2 and m.outcome is not null",
        );
        let rows = self.rows(statement, " and m.channel", " group by 1, 2").await?;
        self.put_by_word(rows, |bucket| &mut bucket.outcomes)
    }

    async fn turns(&mut self) -> Result<(), Error> {
        let statement = self.span.statement(
            "select (t.ended_at - $1) / $3 as bucket, t.state as word, count(*) as found \
             from turns t join conversations c on c.id = t.conversation_id where t.ended_at >= $1 and t.ended_at < $2",
        );
        let rows = self.rows(statement, " and c.channel", " group by 1, 2").await?;
        self.put_by_word(rows, |bucket| &mut bucket.turns)
    }

    async fn usage(&mut self) -> Result<(), Error> {
        let mut statement = self.span.statement(UNSENT);
        statement.push(
            " select (t.ended_at - $1) / $3 as bucket, t.model, (t.wasted or w.turn_id is not null) as wasted, \
             cast(sum(t.input_tokens) as bigint) as input_tokens, cast(sum(t.output_tokens) as bigint) as output_tokens \
             from turns t join conversations c on c.id = t.conversation_id \
             left join unsent w on w.turn_id = t.id and w.at = t.ended_at \
             where t.ended_at >= $1 and t.ended_at < $2",
        );
        for row in self.rows(statement, " and c.channel", " group by 1, 2, 3 order by 1, 2, 3").await? {
            let usage = usage::<S>(&row)?;
            self.bucket(&row)?.usage.push(usage);
        }
        Ok(())
    }

    async fn follow_ups(&mut self) -> Result<(), Error> {
        let mut statement = self.span.statement(
            "select (f.due_at - $1) / $3 as bucket, count(*) as found, \
             case when f.state = 'sent' and m.state in ('queued', 'sending', 'unknown') then 'pending' \
                when f.state = 'sent' and m.id is not null then 'withheld' else f.state end as word \
             from follow_ups f join conversations c on c.id = f.conversation_id ",
        );
        statement.push(NOT_LEFT);
        // Naming every state lets the index on (state, due_at) find the rows.
        statement.push(
            " where f.state in ('pending', 'sent', 'cancelled', 'withheld') and f.due_at >= $1 and f.due_at < $2",
        );
        let rows = self.rows(statement, " and c.channel", " group by 1, 3").await?;
        self.put_by_word(rows, |bucket| &mut bucket.follow_ups)
    }

    async fn drafts(&mut self) -> Result<(), Error> {
        let statement = self.span.statement(
            "select (d.created_at - $1) / $3 as bucket, d.state as word, count(*) as found \
             from drafts d join conversations c on c.id = d.conversation_id \
             where d.created_at >= $1 and d.created_at < $2",
        );
        let rows = self.rows(statement, " and c.channel", " group by 1, 2").await?;
        self.put_by_word(rows, |bucket| &mut bucket.drafts)
    }

    async fn draft_edit_distances(&mut self) -> Result<(), Error> {
        for row in self.rows(self.span.statement(EDITED), " and c.channel", DISTANCES).await? {
            self.bucket(&row)?.draft_edit_distance = Some((cell(&row, "p50")?, cell(&row, "p90")?));
        }
        Ok(())
    }

    /// Those of a statement of the span, narrowed to the channels where its conditions end.
    pub(super) async fn rows(
        &self,
        mut statement: Statement,
        and_column: &'static str,
        rest: &'static str,
    ) -> Result<Vec<S::Row>, Error> {
        only::<S>(&mut statement, and_column, self.channels).push(rest);
        self.store.rows(statement).await
    }

    /// The one that a row is about.
    pub(super) fn bucket(&mut self, row: &S::Row) -> Result<&mut Bucket, Error> {
        let number: i64 = cell(row, "bucket")?;
        let bucket = usize::try_from(number).ok().and_then(|number| self.buckets.get_mut(number));
        bucket.ok_or_else(|| {
            Error::Refused(format!("the database counted a bucket {number} outside the span").into())
        })
    }

    fn put_by_word(
        &mut self,
        rows: Vec<S::Row>,
        counts: fn(&mut Bucket) -> &mut Map<String, Value>,
    ) -> Result<(), Error> {
        for row in rows {
            let found: i64 = cell(&row, "found")?;
            counts(self.bucket(&row)?).insert(cell(&row, "word")?, Value::from(found));
        }
        Ok(())
    }
}

#[async_trait]
impl<S: Store> Used for S {
    // Of all channels at once: no index knows the channel of a turn, and each question reads all turns since then.
    async fn usage(&self, channels: &[String], since: Time) -> Result<Vec<(String, Usage)>, Error> {
        let mut statement = Statement::new(
            "select u.channel, u.model, u.wasted, cast(sum(u.input_tokens) as bigint) as input_tokens, \
             cast(sum(u.output_tokens) as bigint) as output_tokens from ( \
             select c.channel, t.model, t.wasted, t.input_tokens, t.output_tokens \
             from turns t join conversations c on c.id = t.conversation_id where t.ended_at >= $1",
        )
        .with(since);
        only::<S>(&mut statement, " and c.channel", Some(channels)).push(
            " union all select e.channel, e.model, false, e.input_tokens, e.output_tokens \
             from erased_usage e where e.at >= $1",
        );
        only::<S>(&mut statement, " and e.channel", Some(channels))
            .push(") u group by 1, 2, 3 order by 1, 2, 3");
        let rows = self.rows(statement).await?;
        rows.iter().map(|row| Ok((cell(row, "channel")?, usage::<S>(row)?))).collect()
    }

    async fn forget_usage(&self, before: Time) -> Result<u64, Error> {
        purge::remove(self, "erased_usage", "r.at < $1", before).await
    }
}

fn usage<S: Store>(row: &S::Row) -> Result<Usage, Error> {
    Ok(Usage {
        model: cell(row, "model")?,
        wasted: cell(row, "wasted")?,
        input_tokens: cell(row, "input_tokens")?,
        output_tokens: cell(row, "output_tokens")?,
    })
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

    #[test]
    fn a_long_span_is_counted_in_parts_of_whole_steps() {
        const DAY: i64 = 24 * 60 * 60 * 1_000;
        for (days, step, wanted) in [
            (0, DAY, vec![]),
            (7, DAY, vec![7]),
            (31, DAY, vec![7, 7, 7, 7, 3]),
            (8, DAY / 24, vec![168, 24]),
            (9, 3 * DAY, vec![2, 1]),
            (20, 10 * DAY, vec![1, 1]),
        ] {
            let span = Span::new(Time(5), Time(5 + days * DAY), step).expect("a span");
            let parts: Vec<Span> = span.parts().collect();
            assert_eq!(parts.iter().map(Span::buckets).collect::<Vec<_>>(), wanted, "{days} by {step}");
            let starts = |spans: &[Span]| -> Vec<Time> {
                spans.iter().flat_map(Span::empty).map(|bucket| bucket.from).collect()
            };
            assert_eq!(starts(&parts), starts(&[span]));
        }
    }
}
