//! How long contacts waited for an answer, in one pass over the messages of a time.

use super::statistics::Counting;
use crate::{
    adapters::sql::{Store, cell},
    flow::ledger::Error,
};

/// "Waits for our side": it may start a turn. What nobody is to answer begins no wait and stands before none, or the wait of
/// the next would begin with "thanks", a week ago.
macro_rules! of_contact {
    ($m:literal) => {
        concat!("(", $m, ".starts_turn and ", $m, ".outcome <> 'ignored')")
    };
}

/// "Was said by us": it left; one typed on the phone left when it was written. Words of the settings answer nothing, nor do
/// last words that say that somebody comes: the contact waits on.
macro_rules! of_us {
    ($m:literal) => {
        concat!(
            "(",
            $m,
            ".author not in ('contact', 'system') and coalesce(",
            $m,
            ".gate, '') <> 'farewell' and ",
            $m,
            ".kind not in ('note', 'reaction', 'call', 'poll_vote') and (",
            $m,
            ".state is null or ",
            $m,
            ".sent_at is not null))"
        )
    };
}

/// What either side said, each with who spoke before.
const SAID: &str = concat!(
    "with said as ( \
    select m.conversation_id, m.seq, m.at, m.author, coalesce(m.sent_at, m.at) as left_at, \
        lag(m.author) over (partition by m.conversation_id order by m.seq) as author_before \
    from messages m where m.at >= $1 and m.at < $2 and (",
    of_contact!("m"),
    " or ",
    of_us!("m"),
    ")"
);

/// Times a contact began to wait, and the first answer, in the order of the conversation. A wait begins with the first
/// message of the contact after one of ours, or after none, and ends with the next of ours. So of messages of one side in a
/// row the first is all that matters, and what comes after it in this list is of the other side. Only at the ends of the time
/// it is looked up what was said before or after. Waits count where they began; those without an answer yet count nowhere.
/// `by_people` has those again that a person answered first. (Not by a word: the order of words is that of a language, and
/// sorting by it takes twice as long.)
const ANSWERS: &str = concat!(
    "), changes as ( \
    select s.*, lead(s.author) over w as author_after, lead(s.left_at) over w as answered_at \
    from said s where s.author_before is null or (s.author_before = 'contact') <> (s.author = 'contact') \
    window w as (partition by s.conversation_id order by s.seq) \
    ), waits as ( \
    select c.* from changes c where c.author = 'contact' and coalesce(c.author_before, (select p.author from messages p \
        where p.conversation_id = c.conversation_id and p.seq < c.seq and (",
    of_contact!("p"),
    " or ",
    of_us!("p"),
    ") order by p.seq desc limit 1), 'nobody') <> 'contact' \
    ), answers as ( \
    select (w.at - $1) / $3 as bucket, coalesce(w.author_after, (select n.author from messages n \
        where n.conversation_id = w.conversation_id and n.seq > w.seq and ",
    of_us!("n"),
    " order by n.seq limit 1)) as author, \
        coalesce(w.answered_at, (select coalesce(n.sent_at, n.at) from messages n \
        where n.conversation_id = w.conversation_id and n.seq > w.seq and ",
    of_us!("n"),
    " order by n.seq limit 1)) - w.at as ms from waits w \
    ), named as ( \
    select bucket, 0 as by_people, ms from answers where ms is not null \
    union all \
    select bucket, 1 as by_people, ms from answers where author = 'agent' \
    ), ranked as ( \
    select bucket, by_people, ms, row_number() over (partition by bucket, by_people order by ms) as place, \
        count(*) over (partition by bucket, by_people) as total from named \
    ) \
    select bucket, by_people = 1 as is_by_people, min(ms) filter (where place >= (total + 1) / 2) as p50, \
        min(ms) filter (where place >= (total * 9 + 9) / 10) as p90 \
    from ranked group by bucket, by_people"
);

/// Puts them into the buckets of that part.
pub(super) async fn count<S: Store>(counting: &mut Counting<'_, S>) -> Result<(), Error> {
    for row in counting.rows(counting.span.statement(SAID), " and m.channel", ANSWERS).await? {
        let percentiles = (cell::<i64, _>(&row, "p50")?.max(0), cell::<i64, _>(&row, "p90")?.max(0));
        let bucket = counting.bucket(&row)?;
        if cell(&row, "is_by_people")? {
            bucket.human_answer_ms = Some(percentiles);
        } else {
            bucket.first_answer_ms = Some(percentiles);
        }
    }
    Ok(())
}
