//! Step: what channels with a ceiling of cost have spent today is counted, in one look for all of them.
//!
//! In: what was used of models, and prices. Out: the channels' policies, which say whether the ceiling is reached.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use super::{channel_loader::ChannelLoader, parts::Parts};
use crate::{
    config::Settings,
    domain::{hours::day_began, time::Time},
    flow::spending::{self, Used},
};

/// After this many looks in a row that the store did not answer, somebody should know.
const MISSED_MAX: u32 = 3;

/// The step.
pub(super) struct Spending {
    settings: Arc<Settings>,
    channel_loader: Arc<ChannelLoader>,
    used: Arc<dyn Used>,
    /// Looks in a row that came to nothing.
    missed: AtomicU32,
}

impl Spending {
    /// Of these channels.
    pub(super) fn of(parts: &Parts) -> Self {
        Self::new(Arc::clone(&parts.settings), Arc::clone(&parts.channel_loader), parts.store.places())
    }

    fn new(settings: Arc<Settings>, channel_loader: Arc<ChannelLoader>, used: Arc<dyn Used>) -> Self {
        Self { settings, channel_loader, used, missed: AtomicU32::new(0) }
    }

    /// Counts. Where the store does not answer, what was counted before stands.
    pub(super) async fn count(&self, now: Time) {
        let Some(prices) = &self.settings.ai_prices else { return };
        let Some(today) = day_began(&self.settings.time_zone, now) else { return };
        let channels = self.with_ceilings();
        if channels.is_empty() {
            return;
        }
        match self.used.usage(&channels, today).await {
            Ok(usage) => {
                self.missed.store(0, Ordering::Relaxed);
                for name in &channels {
                    let own = usage.iter().filter(|(channel, _)| channel == name).map(|(_, used)| used);
                    self.channel_loader.set_spent(name, spending::cost_of(prices, own));
                }
            }
            Err(error) if self.is_worth_telling() => tracing::warn!(
                error = error.cause(),
                "what was spent today cannot be counted: ceilings of cost may be passed until it is"
            ),
            Err(error) => tracing::debug!(%error, "what was spent is not known this time"),
        }
    }

    fn with_ceilings(&self) -> Vec<String> {
        let has_ceiling = |name: &String| {
            self.channel_loader
                .channels
                .get(name)
                .is_some_and(|channel| channel.policy.ai_spend_per_day.is_some())
        };
        self.channel_loader.channels.names().into_iter().filter(has_ceiling).collect()
    }

    /// One more look in a row came to nothing. True once.
    fn is_worth_telling(&self) -> bool {
        self.missed.fetch_add(1, Ordering::Relaxed) + 1 == MISSED_MAX
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;

    use super::*;
    use crate::{
        app::channel_loader,
        flow::{archive::Usage, ledger::Error},
    };

    const NOW: Time = Time(1_767_600_000_000);

    /// What was used, and who has asked for it.
    #[derive(Default)]
    struct Till {
        used: Mutex<Vec<(&'static str, i64)>>,
        is_away: std::sync::atomic::AtomicBool,
        asked: Mutex<Vec<(Vec<String>, Time)>>,
    }

    #[async_trait]
    impl Used for Till {
        async fn usage(&self, channels: &[String], since: Time) -> Result<Vec<(String, Usage)>, Error> {
            self.asked.lock().expect("whole").push((channels.to_vec(), since));
            if self.is_away.load(Ordering::SeqCst) {
                return Err(Error::Unavailable("away".into()));
            }
            let usage = |input_tokens| Usage {
                model: "gpt".to_owned(),
                wasted: false,
                input_tokens,
                output_tokens: 0,
            };
            let used = self.used.lock().expect("whole");
            Ok(used.iter().map(|(name, tokens)| ((*name).to_owned(), usage(*tokens))).collect())
        }

        async fn forget_usage(&self, _before: Time) -> Result<u64, Error> {
            unreachable!("counting forgets nothing")
        }
    }

    /// Whose ceilings are reached.
    fn spent(spending: &Spending) -> Vec<String> {
        let is_spent =
            |name: &String| spending.channel_loader.channels.get(name).is_some_and(|it| it.policy.is_spent);
        let mut names = spending.channel_loader.channels.names();
        names.sort();
        names.into_iter().filter(is_spent).collect()
    }

    #[tokio::test]
    async fn what_all_channels_have_spent_is_asked_for_at_once_and_stands_while_the_store_is_away() {
        let set = [("ai_prices", "gpt=1/1")];
        let ceilings = [("bar", Some(1.0)), ("cafe", None), ("inn", Some(2.0)), ("shop", Some(1.0))];
        let (channel_loader, _folder) = channel_loader::tests::with_ceilings(&set, &ceilings).await;
        let (settings, till) = (channel_loader.settings(), Arc::new(Till::default()));
        let spending = Spending::new(settings, Arc::new(channel_loader), till.clone());
        *till.used.lock().expect("whole") =
            vec![("bar", 600_000), ("bar", 400_000), ("inn", 1_900_000), ("shop", 3_000_000)];
        spending.count(NOW).await;
        assert_eq!(spent(&spending), ["bar", "shop"]);
        let mut asked = till.asked.lock().expect("whole").clone();
        asked.iter_mut().for_each(|(channels, _)| channels.sort());
        let of_all = ["bar", "inn", "shop"].map(str::to_owned).to_vec();
        assert_eq!(asked, [(of_all, Time::parse("2026-01-05T00:00:00Z").expect("a time"))], "one look");

        till.is_away.store(true, Ordering::SeqCst);
        spending.count(NOW).await;
        assert_eq!(spent(&spending), ["bar", "shop"]);

        // The next day nothing was spent yet.
        till.is_away.store(false, Ordering::SeqCst);
        till.used.lock().expect("whole").clear();
        spending.count(NOW.plus_ms(86_400_000)).await;
        assert_eq!(spent(&spending), [""; 0]);
    }

    #[tokio::test]
    async fn that_nothing_can_be_counted_is_told_once() {
        let (channel_loader, _folder) =
            channel_loader::tests::with_ceilings(&[("ai_prices", "gpt=1/1")], &[]).await;
        let spending =
            Spending::new(channel_loader.settings(), Arc::new(channel_loader), Arc::new(Till::default()));
        let told: Vec<bool> = (0..6).map(|_| spending.is_worth_telling()).collect();
        assert_eq!(told, [false, false, true, false, false, false]);
    }
}
