//! Step: looks for sends of unknown fate at the provider, every second on every instance.
//!
//! In: rows that are unknown; the provider's queue and journal, each asked at most once a second a channel, by a turn
//! that is a row. Out: the rules of [`evidence`], run on what was found.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::join_all;
use uuid::Uuid;

use super::evidence::{self, fits};
use crate::{
    domain::{
        chat::ChatId,
        docket::Docket,
        event::{Event, EventType},
        message::Attempt,
        policy::UnknownSend,
        time::Time,
    },
    flow::{
        archive::{Archive, EventFilter, PageOf, Placed, UnknownSends},
        back_office::registry::Registry,
        instance::channels::{Channel, Channels},
        ledger::{self, Key, Ledger, Need, change, ignore_gone},
        outbox,
        provider::{AUTHORIZED, LookUp, Trace},
    },
};

/// Rows read at once, the latest attempts first; the next look reads on from there.
const ROWS_MAX: usize = 500;
/// One request a second a channel and method.
const EVERY_MS: i64 = 1_000;
/// Ages of an attempt at which it is looked for; the echo, which costs nothing, usually comes before the first.
const AGES_MS: [i64; 4] = [5_000, 15_000, 60_000, 130_000];
/// From then on this often.
const LATER_MS: i64 = 600_000;
/// A look that the provider did not answer has told nothing, and is made again so soon.
const UNANSWERED_MS: i64 = 30_000;
/// An entry of the journal may come so late after the message has left.
const JOURNAL_LATE_MS: i64 = 120_000;
/// Longest search: the provider keeps a queued message, and shows what has left, for a day.
const SEARCH_MS: i64 = 86_400_000;
/// An instance may send by the account that a channel had for so long after it was given another.
const LOADED_LATE_MS: i64 = 60_000;
/// Minutes of the journal that are asked for beyond the age of the oldest attempt.
const JOURNAL_MARGIN_MINUTES: i64 = 2;

/// How far the search for one attempt is, on this instance. After a restart it begins again, which costs requests only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Search {
    next_at: Time,
    /// Since when every look has found the queue empty, by its list and by its length.
    empty_since: Option<Time>,
}

impl Search {
    const fn begin(attempt: Attempt) -> Self {
        Self { next_at: attempt.at.plus_ms(AGES_MS[0]), empty_since: None }
    }

    /// The next look: by the age of the attempt, so that all instances keep the same pauses.
    fn plan(&mut self, attempt: Attempt, now: Time, is_answered: bool) {
        let age_ms = now.since(attempt.at);
        let next_at = match AGES_MS.iter().find(|at_ms| **at_ms > age_ms) {
            Some(at_ms) => attempt.at.plus_ms(*at_ms),
            None => now.plus_ms(LATER_MS),
        };
        self.next_at = if is_answered { next_at } else { next_at.min(now.plus_ms(UNANSWERED_MS)) };
    }

    /// Whether what is in neither list now can be said not to have gone, as far as that can ever be said.
    fn covers(&self, attempt: Attempt, now: Time) -> bool {
        let queued_ms = self.empty_since.map(|since| since.since(attempt.at).max(0));
        queued_ms.is_some_and(|queued_ms| now.since(attempt.at) > JOURNAL_LATE_MS + queued_ms)
            && self.empty_since.is_some_and(|since| since < now)
    }
}

/// How far the rows have been read: there may be more than fit into one look.
#[derive(Debug, Default)]
struct Round {
    after: Option<(Time, Uuid)>,
    /// Attempts that were read since it began.
    seen: HashSet<Uuid>,
    /// When those were last looked for that are looked for no longer.
    gave_up_at: Option<Time>,
}

/// One row that is looked for.
#[derive(Clone)]
struct Lost {
    placed: Placed,
    attempt: Attempt,
}

impl Lost {
    fn of(placed: Placed) -> Option<Self> {
        let attempt = placed.message.delivery.as_ref()?.attempt?;
        Some(Self { placed, attempt })
    }

    /// What left before cannot be it. Of several attempts that nothing accounts for, any may have left.
    fn tried_from(&self) -> Time {
        let delivery = self.placed.message.delivery.as_ref().filter(|delivery| delivery.unclear > 1);
        delivery.map_or(self.attempt.at, |delivery| delivery.queued_at)
    }
}

/// The step.
pub struct Reconciler {
    ledger: Arc<dyn Ledger>,
    archive: Arc<dyn Archive>,
    sends: Arc<dyn UnknownSends>,
    registry: Arc<dyn Registry>,
    channels: Arc<Channels>,
    searches: Mutex<HashMap<Uuid, Search>>,
    round: Mutex<Round>,
}

impl Reconciler {
    /// One that has not looked for anything yet.
    pub fn new(
        ledger: Arc<dyn Ledger>,
        archive: Arc<dyn Archive>,
        sends: Arc<dyn UnknownSends>,
        registry: Arc<dyn Registry>,
        channels: Arc<Channels>,
    ) -> Self {
        Self {
            ledger,
            archive,
            sends,
            registry,
            channels,
            searches: Mutex::default(),
            round: Mutex::default(),
        }
    }

    /// Looks for what is due to be looked for, on all channels at once.
    pub async fn look(&self) -> Result<(), ledger::Error> {
        // Attempts carry the store's clock, and so do the turns to look.
        let now = self.ledger.now().await?;
        let lost = self.read_on(now).await?;
        let mut due: BTreeMap<String, Vec<Lost>> = BTreeMap::new();
        for lost in self.due(lost, now) {
            due.entry(lost.placed.channel.clone()).or_default().push(lost);
        }
        let rounds = due.into_iter().map(|(name, mut lost)| async move {
            lost.sort_by_key(|lost| lost.attempt.at);
            self.look_on(&name, &lost, now).await
        });
        join_all(rounds).await.into_iter().collect::<Result<(), _>>()?;
        self.give_up_old(now).await
    }

    /// The next rows, from the latest on again after the last. What was in none of a round is no longer unknown, and its search
    /// is forgotten.
    async fn read_on(&self, now: Time) -> Result<Vec<Lost>, ledger::Error> {
        let after = self.round().after;
        let page = self.sends.unknown_sends(now.plus_ms(-SEARCH_MS), after, ROWS_MAX).await?;
        let is_last = page.len() < ROWS_MAX;
        let lost: Vec<Lost> = page.into_iter().filter_map(Lost::of).collect();
        let mut round = self.round();
        round.seen.extend(lost.iter().map(|lost| lost.attempt.id));
        round.after = lost.last().filter(|_| !is_last).map(|lost| (lost.attempt.at, lost.placed.message.id));
        if round.after.is_none() {
            let seen = std::mem::take(&mut round.seen);
            self.searches().retain(|attempt, _| seen.contains(attempt));
        }
        Ok(lost)
    }

    /// Those whose next look has come.
    fn due(&self, lost: Vec<Lost>, now: Time) -> Vec<Lost> {
        let mut searches = self.searches();
        let is_due = |lost: &Lost| {
            searches.entry(lost.attempt.id).or_insert_with(|| Search::begin(lost.attempt)).next_at <= now
        };
        lost.into_iter().filter(is_due).collect()
    }

    async fn look_on(&self, name: &str, due: &[Lost], now: Time) -> Result<(), ledger::Error> {
        let Some(channel) = self.channels.get(name) else { return Ok(()) };
        if !self.registry.claim_look_up(name, now, EVERY_MS).await? {
            return Ok(());
        }
        let mut is_answered = self.read_queue(&channel, due, now).await?;
        let is_old = |lost: &&Lost| now.since(lost.attempt.at) > JOURNAL_LATE_MS;
        let old: Vec<Lost> = due.iter().filter(is_old).cloned().collect();
        if !old.is_empty() {
            if self.read_journal(&channel, &old, now).await? {
                self.resend_absent(&channel, &old, now).await?;
            } else {
                is_answered = false;
            }
        }
        let mut searches = self.searches();
        for lost in due {
            if let Some(search) = searches.get_mut(&lost.attempt.id) {
                search.plan(lost.attempt, now, is_answered);
            }
        }
        Ok(())
    }

    /// True if the queue was read, whatever it showed.
    async fn read_queue(&self, channel: &Channel, due: &[Lost], now: Time) -> Result<bool, ledger::Error> {
        let length = match channel.provider.look_up(LookUp::Queue).await {
            Ok(traces) => {
                self.settle(channel, due, &traces, "provider_queue").await?;
                // The list may hide its head; only for a resend is it worth another request.
                match traces.is_empty() && channel.policy.unknown_send == UnknownSend::Resend {
                    true => channel.provider.queue_length().await.map(Some),
                    false => Ok(None),
                }
            }
            Err(unanswered) => Err(unanswered),
        };
        if let Err(unanswered) = &length {
            tracing::debug!(channel = channel.name, %unanswered, "the provider did not show its queue");
        }
        let is_empty = matches!(length, Ok(Some(0)));
        let mut searches = self.searches();
        for lost in due {
            if let Some(search) = searches.get_mut(&lost.attempt.id) {
                search.empty_since = is_empty.then_some(search.empty_since.unwrap_or(now));
            }
        }
        Ok(length.is_ok())
    }

    /// True if the journal was read, whatever it showed.
    async fn read_journal(&self, channel: &Channel, due: &[Lost], now: Time) -> Result<bool, ledger::Error> {
        let oldest_ms = due.iter().map(|lost| now.since(lost.tried_from())).max().unwrap_or(0);
        let minutes = oldest_ms / 60_000 + JOURNAL_MARGIN_MINUTES;
        match channel.provider.look_up(LookUp::Journal { minutes }).await {
            Ok(traces) => {
                self.settle(channel, due, &traces, "provider_journal").await?;
                Ok(true)
            }
            Err(unanswered) => {
                tracing::debug!(channel = channel.name, %unanswered, "the provider did not show its journal");
                Ok(false)
            }
        }
    }

    /// Holds what was found against the conversations whose chat and words it names.
    async fn settle(
        &self,
        channel: &Channel,
        due: &[Lost],
        traces: &[Trace],
        by: &'static str,
    ) -> Result<(), ledger::Error> {
        let mut seen = HashSet::new();
        for lost in due.iter().filter(|lost| seen.insert(lost.placed.conversation)) {
            let conversation = lost.placed.conversation;
            let may_be_meant = |trace: &&Trace| {
                due.iter().any(|lost| {
                    lost.placed.conversation == conversation
                        && fits(trace, lost.placed.message.posted_words(), lost.tried_from())
                })
            };
            let mut found = Vec::new();
            for trace in traces.iter().filter(may_be_meant) {
                if self.is_of(lost, &trace.chat).await? {
                    found.push(trace.clone());
                }
            }
            if found.is_empty() {
                continue;
            }
            found.sort_by_key(|trace| trace.at);
            let keys = found.iter().filter_map(|trace| trace.id.clone()).collect();
            let need = Need { keys, ..Need::default() };
            let policy = Arc::clone(&channel.policy);
            let step = move |docket: &mut Docket| evidence::take_evidence(docket, &policy, &found, by);
            ignore_gone(change(&*self.ledger, Key::Id(conversation), need, step).await)?;
        }
        Ok(())
    }

    /// Whether a chat is that of the conversation, under any of its ids.
    async fn is_of(&self, lost: &Lost, chat: &ChatId) -> Result<bool, ledger::Error> {
        if *chat == lost.placed.chat {
            return Ok(true);
        }
        let found = self.archive.conversation_of(&lost.placed.channel, chat).await?;
        Ok(found.is_some_and(|found| found.conversation.id == lost.placed.conversation))
    }

    /// Owes again what is in neither list, if the policy says so and the lists cover the time.
    async fn resend_absent(&self, channel: &Channel, due: &[Lost], now: Time) -> Result<(), ledger::Error> {
        if channel.policy.unknown_send == UnknownSend::Hold {
            return Ok(());
        }
        let covers = |lost: &&Lost| {
            self.searches().get(&lost.attempt.id).is_some_and(|search| search.covers(lost.attempt, now))
        };
        let covered: Vec<Lost> = due.iter().filter(covers).cloned().collect();
        if covered.is_empty() || !matches!(channel.provider.state().await.as_deref(), Ok(AUTHORIZED)) {
            return Ok(());
        }
        for lost in covered {
            if self.was_always_able(channel, lost.attempt).await? && !self.was_resent(&lost).await? {
                let (policy, message, attempt) =
                    (Arc::clone(&channel.policy), lost.placed.message.id, lost.attempt.id);
                let need = Need { messages: vec![message], ..Need::default() };
                let step = move |docket: &mut Docket| evidence::resend(docket, &policy, message, attempt);
                let key = Key::Id(lost.placed.conversation);
                ignore_gone(change(&*self.ledger, key, need, step).await)?;
            }
        }
        Ok(())
    }

    /// Whether nothing was reported since the attempt but that the channel can send, and by the account it was made by. What
    /// another account shows proves nothing.
    async fn was_always_able(&self, channel: &Channel, attempt: Attempt) -> Result<bool, ledger::Error> {
        let filter = EventFilter {
            channels: Some(vec![channel.name.clone()]),
            kinds: vec![EventType::ChannelStateChanged],
            since: Some(attempt.at.plus_ms(-LOADED_LATE_MS)),
            ..EventFilter::default()
        };
        let page = self.archive.events(&filter, &PageOf { limit: 200, cursor: None }).await?;
        let all = page.items.iter().all(|found| leaves_able(&found.event, attempt.at));
        Ok(all && page.next.is_none())
    }

    async fn was_resent(&self, lost: &Lost) -> Result<bool, ledger::Error> {
        self.was_noted(lost, "resent", None).await
    }

    async fn was_noted(&self, lost: &Lost, action: &str, since: Option<Time>) -> Result<bool, ledger::Error> {
        let filter = EventFilter {
            conversation: Some(lost.placed.conversation),
            kinds: vec![EventType::SendReconciled],
            message: Some(lost.placed.message.id),
            since,
            ..EventFilter::default()
        };
        let page = self.archive.events(&filter, &PageOf { limit: 200, cursor: None }).await?;
        Ok(page.items.iter().any(|found| found.event.action.as_deref() == Some(action)))
    }

    /// Records once that nobody looks any longer for what was tried so long ago that no list shows it any more.
    async fn give_up_old(&self, now: Time) -> Result<(), ledger::Error> {
        let was_done = |at: Time| (0..LATER_MS).contains(&now.since(at));
        if self.round().gave_up_at.is_some_and(was_done) {
            return Ok(());
        }
        let old = self.sends.abandoned_sends(now.plus_ms(-SEARCH_MS), ROWS_MAX).await?;
        for lost in old.into_iter().filter_map(Lost::of) {
            if self.channels.get(&lost.placed.channel).is_some() {
                self.give_up(&lost).await?;
            }
        }
        self.round().gave_up_at = Some(now);
        Ok(())
    }

    /// Another instance may have noted it since it was read.
    async fn give_up(&self, lost: &Lost) -> Result<(), ledger::Error> {
        if !self.was_noted(lost, "gave_up", Some(lost.attempt.at)).await? {
            let (message, attempt) = (lost.placed.message.id, lost.attempt.id);
            let step = move |docket: &mut Docket| evidence::give_up_search(docket, message, attempt);
            let key = Key::Id(lost.placed.conversation);
            ignore_gone(change(&*self.ledger, key, Need::default(), step).await)?;
        }
        Ok(())
    }

    fn round(&self) -> MutexGuard<'_, Round> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn searches(&self) -> MutexGuard<'_, HashMap<Uuid, Search>> {
        self.searches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a change of a channel's state leaves what was tried at that moment where it can be looked for. To null, the channel
/// has another account: nobody knows yet how that is.
fn leaves_able(event: &Event, tried_at: Time) -> bool {
    let state = |end: &str| event.details.get(end).map(|state| state.as_str().unwrap_or_default());
    let is_another_account = state("to") == Some("");
    let is_able = |end: &str| state(end).is_some_and(outbox::is_able);
    !is_another_account && (event.at < tried_at || is_able("from") && is_able("to"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::docket::Entry;

    const TRIED: Time = Time(1_000_000);

    fn attempt() -> Attempt {
        Attempt { id: Uuid::nil(), at: TRIED, lease_until: TRIED.plus_ms(16_000) }
    }

    #[test]
    fn the_pauses_grow() {
        let mut search = Search::begin(attempt());
        let mut ages = Vec::new();
        for _ in 0..6 {
            ages.push(search.next_at.since(TRIED));
            search.plan(attempt(), search.next_at, true);
        }
        assert_eq!(ages, [5_000, 15_000, 60_000, 130_000, 730_000, 1_330_000]);
    }

    #[test]
    fn a_look_without_an_answer_is_made_again_soon() {
        for (age_ms, again_ms) in [(5_000, 15_000), (60_000, 90_000), (130_000, 160_000), (730_000, 760_000)]
        {
            let mut search = Search::begin(attempt());
            search.plan(attempt(), TRIED.plus_ms(age_ms), false);
            assert_eq!(search.next_at.since(TRIED), again_ms, "{age_ms}");
        }
    }

    #[test]
    fn the_lists_cover_the_time_only_long_after_the_queue_was_found_empty_twice() {
        let after = |ms| TRIED.plus_ms(ms);
        let table = [
            (None, 1_000_000, false),
            (Some(5_000), 5_000, false),
            (Some(5_000), 125_000, false),
            (Some(5_000), 125_001, true),
            (Some(60_000), 130_000, false),
            (Some(60_000), 180_001, true),
            (Some(600_000), 600_000, false),
            (Some(600_000), 720_001, true),
        ];
        for (empty_ms, now_ms, expected) in table {
            let search = Search { empty_since: empty_ms.map(after), ..Search::begin(attempt()) };
            assert_eq!(search.covers(attempt(), after(now_ms)), expected, "{empty_ms:?} {now_ms}");
        }
    }

    #[test]
    fn what_was_tried_by_another_account_or_while_the_phone_was_not_linked_is_not_said_to_be_absent() {
        let changed = |ms: i64, from: Option<&str>, to: Option<&str>| {
            let entry = Entry::of(EventType::ChannelStateChanged).with("from", from).with("to", to);
            entry.outside("shop", TRIED.plus_ms(ms))
        };
        let (linked, blocked) = (Some("authorized"), Some("blocked"));
        #[rustfmt::skip]
        let table = [
            (changed(1, None, linked),      true),
            (changed(1, blocked, linked),   false),
            (changed(-1, blocked, linked),  true),
            (changed(1, linked, blocked),   false),
            (changed(1, linked, None),      false),
            (changed(1, None, None),        false),
            // Not every instance had heard of it then.
            (changed(-1, linked, None),     false),
        ];
        for (event, expected) in table {
            assert_eq!(leaves_able(&event, TRIED), expected, "{:?} {}", event.details, event.at);
        }
        let quota = Entry::of(EventType::ChannelStateChanged).with("quota_exceeded", "sendMessage");
        assert!(!leaves_able(&quota.outside("shop", TRIED), TRIED));
    }
}
