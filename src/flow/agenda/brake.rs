//! Step: the brake on what nobody asked for is latched where far more of it leaves than ever before. Counted outside the flow,
//! every few seconds; what begins within those seconds passes it.
//!
//! In: how many follow-ups left a channel today, and on the best of the days before. Out: the channel's row, which every instance
//! respects until a person releases it, and an event that says why.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    domain::{
        brake::{self, Latched},
        docket::Entry,
        event::EventType,
        hours::days_before,
        time::Time,
    },
    flow::{
        archive::Statistics,
        back_office::registry::{Channel, Registry},
        ledger::{Error, Ledger},
    },
};

/// The step.
pub struct Brakes {
    /// Where channels are kept.
    pub registry: Arc<dyn Registry>,
    /// Where sends are counted.
    pub statistics: Arc<dyn Statistics>,
    /// Where it is written down.
    pub ledger: Arc<dyn Ledger>,
    /// The time zone by whose days sends are counted.
    pub zone: String,
    /// More than this many times the best day is too much; 0 = it never latches.
    pub times: i64,
    /// What the best day was, by channel and the beginning of the day for which it was asked: it changes once a day.
    pub best: Mutex<BTreeMap<String, (Time, i64)>>,
}

impl Brakes {
    /// Looks at every channel. True if one was latched now.
    pub async fn look(&self, now: Time) -> Result<bool, Error> {
        let days = days_before(&self.zone, now, brake::DAYS);
        let Some(today) = days.first().copied().filter(|_| self.times > 0) else { return Ok(false) };
        let mut is_news = false;
        for channel in self.registry.channels().await? {
            if channel.brake.latched.is_none() {
                is_news |= self.look_at(&channel, today, &days, now).await?;
            }
        }
        Ok(is_news)
    }

    async fn look_at(&self, channel: &Channel, today: Time, days: &[Time], now: Time) -> Result<bool, Error> {
        let from = channel.brake.free_from(today);
        let sends = self.statistics.proactive(&channel.name, from, now.plus_ms(1)).await?;
        if !brake::is_many(sends) {
            return Ok(false);
        }
        let best = self.best(&channel.name, today, days).await?;
        if !brake::is_too_many(self.times, sends, best) {
            return Ok(false);
        }
        let latched = Latched { at: now, sends, best };
        // Of several instances one latches it; and none by what it had counted before a release.
        if !self.registry.latch_brake(&channel.name, latched, channel.brake.released_at).await? {
            return Ok(false);
        }
        let event = Entry::of(EventType::BrakeLatched)
            .with("sends", sends)
            .with("best", best)
            .with("times", self.times)
            .outside(&channel.name, now);
        // It holds either way: what is lacking then is a line in the journal.
        if let Err(error) = self.ledger.keep(vec![event], Vec::new()).await {
            let (error, channel) = (error.cause(), &channel.name);
            tracing::warn!(error, channel, sends, best, "the latched brake was not recorded in the journal");
        }
        Ok(true)
    }

    async fn best(&self, channel: &str, today: Time, days: &[Time]) -> Result<i64, Error> {
        let known = self.kept().get(channel).copied();
        if let Some((_, best)) = known.filter(|(day, _)| *day == today) {
            return Ok(best);
        }
        let mut best = 0;
        for day in days.windows(2) {
            best = best.max(self.statistics.proactive(channel, day[1], day[0]).await?);
        }
        self.kept().insert(channel.to_owned(), (today, best));
        Ok(best)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, (Time, i64)>> {
        self.best.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
