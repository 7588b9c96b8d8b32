//! Step: what time alone brings about in a conversation, and the watch over the turns that run here.
//!
//! In: conversations whose clock has run out; every second, all turns of this instance. Out: the way back to AI,
//! overdue answers, sends of unknown fate, conversations that merge; leases extended, turns whose permit is gone cancelled.

use std::{sync::Arc, time::Duration};

use execution::redis_lock;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    back_office::registry::Registry,
    conversations, inbox,
    instance::{channels::Channels, dispatch::Dispatch},
    ledger::{self, Held, Key, Ledger, Need, Standing, change, ignore_gone},
    merge::{self, merge},
    mode_switch::ANSWER_NOW_MESSAGES,
    reconcile,
};
use crate::domain::{chat::ChatId, docket::Docket, time::Time};

/// How often running turns are compared with the store: a message between instances that was lost costs this much.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The step over one conversation.
pub struct Tend {
    /// Where conversations are changed.
    pub ledger: Arc<dyn Ledger>,
    /// Where chats are linked.
    pub registry: Arc<dyn Registry>,
    /// The rules.
    pub channels: Arc<Channels>,
}

impl Tend {
    /// Does what is due in one conversation. True if anything was.
    pub async fn tend(&self, conversation: Uuid) -> Result<bool, ledger::Error> {
        let channels = Arc::clone(&self.channels);
        // What was left to people is answered where the assistant comes back by itself.
        let need = Need { newest: ANSWER_NOW_MESSAGES, ..Need::itself() };
        let step = move |docket: &mut Docket| {
            let memo = &docket.conversation.memo;
            if let Some(stays) = memo.merged_into {
                return Tended { tells_earlier: memo.is_untold.then_some(stays), ..Tended::default() };
            }
            if let Some(channel) = channels.get(&docket.conversation.channel) {
                conversations::pass_time(docket, &channel.policy);
                reconcile::expire_leases(docket, &channel.policy);
            }
            let memo = &docket.conversation.memo;
            let asks = memo.other_id_at.is_some_and(|at| Time(at) <= docket.now);
            Tended {
                is_changed: docket.is_changed(),
                tells_earlier: None,
                merges_into: memo.same_person.filter(|_| docket.is_at_rest()),
                tells_others: memo.is_untold,
                asks: asks.then(|| (docket.conversation.channel.clone(), docket.conversation.chat.clone())),
                edits_of_unseen: inbox::edits_of_unseen(docket),
            }
        };
        let tended = match change(&*self.ledger, Key::Id(conversation), need, step).await {
            Err(ledger::Error::Gone) => return Ok(false),
            tended => tended?,
        };
        if let Some(earlier) = tended.tells_earlier {
            merge::tell_earlier(&*self.ledger, earlier, conversation).await?;
            return Ok(true);
        }
        if !tended.edits_of_unseen.is_empty() {
            self.admit_edited(conversation, &tended.edits_of_unseen).await?;
        }
        if let Some((channel, chat)) = &tended.asks {
            self.ask(conversation, channel, chat).await?;
        }
        if tended.tells_others {
            merge::tell_others(&*self.ledger, &self.channels, conversation).await?;
        }
        if let Some(earlier) = tended.merges_into {
            merge(&*self.ledger, &self.channels, earlier, conversation).await?;
        }
        let has_done = tended.asks.is_some()
            || tended.tells_others
            || tended.merges_into.is_some()
            || !tended.edits_of_unseen.is_empty();
        Ok(tended.is_changed || has_done)
    }

    /// What the contact has edited and nobody has seen: in a step of its own, which looks whether the originals have come.
    async fn admit_edited(&self, conversation: Uuid, ids: &[String]) -> Result<(), ledger::Error> {
        let (channels, keys) = (Arc::clone(&self.channels), ids.to_vec());
        let need = Need { keys: keys.clone(), ..Need::itself() };
        let admit = move |docket: &mut Docket| {
            if let Some(channel) = channels.get(&docket.conversation.channel) {
                inbox::admit_edited(docket, &channel.policy, &keys);
            }
        };
        ignore_gone(change(&*self.ledger, Key::Id(conversation), need, admit).await)
    }

    /// Asks again under which other id the provider knows the person.
    async fn ask(&self, conversation: Uuid, channel: &str, chat: &ChatId) -> Result<(), ledger::Error> {
        let Some(channel) = self.channels.get(channel) else { return Ok(()) };
        let is_told = match merge::other_id(&*self.registry, &channel, chat).await {
            Err(_) => false,
            Ok(None) => true,
            // Not, if the other one began a conversation of its own meanwhile: then they are linked the next time.
            Ok(Some(other)) => {
                let ids = [chat, &other];
                merge::link(&*self.ledger, &*self.registry, &self.channels, &channel.name, ids).await?
            }
        };
        let note = move |docket: &mut Docket| match is_told {
            true => merge::is_told(docket),
            false => merge::ask_again(docket),
        };
        ignore_gone(change(&*self.ledger, Key::Id(conversation), Need::itself(), note).await)
    }
}

/// What one look at a conversation has come to.
#[derive(Default)]
struct Tended {
    is_changed: bool,
    /// The earlier conversation, in which it continues and which does not say so yet.
    tells_earlier: Option<Uuid>,
    /// The earlier conversation with the same person, if it can continue there now.
    merges_into: Option<Uuid>,
    /// Others with the same person are to learn of something.
    tells_others: bool,
    /// The chat whose other id is to be asked for.
    asks: Option<(String, ChatId)>,
    /// Messages of which nothing but an edit has come.
    edits_of_unseen: Vec<String>,
}

/// The watch over the turns that run here.
pub struct Keeper {
    /// Where conversations stand.
    pub ledger: Arc<dyn Ledger>,
    /// What runs here.
    pub dispatch: Arc<Dispatch>,
    /// Lease of a conversation.
    pub lease: Duration,
}

impl Keeper {
    /// Watches until it is stopped. Leases are extended at a third of their time; one that could not be extended in
    /// time is void by our own clock, counted from before the request for it.
    pub async fn watch(self, stop: CancellationToken) {
        let mut every = tokio::time::interval(LOOK_EVERY.min(self.lease / 3));
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = every.tick() => {}
            }
            // A turn that ends before a third of its lease is over costs no renewal.
            let (due, rest) = self.dispatch.running.held(self.lease / 3);
            let extend_ms = i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX);
            let asked_at = Instant::now();
            let standings = self.look(&due, Some(extend_ms)).await;
            renew_locks(self.dispatch.running.extended(&standings, asked_at));
            self.look(&rest, None).await;
            let turns = self.dispatch.running.cancel_older(self.lease);
            if turns > 0 {
                tracing::warn!(turns, "leases ran out while the store was away; turns stopped");
            }
        }
    }

    /// Compares these turns with the store. Gives what it has answered, if it has.
    async fn look(&self, held: &[Held], extend_ms: Option<i64>) -> Vec<Standing> {
        if held.is_empty() {
            return Vec::new();
        }
        match self.ledger.standings(held, extend_ms).await {
            Ok(standings) => {
                self.dispatch.running.judge_all(held, &standings);
                standings
            }
            Err(error) => {
                tracing::debug!(%error, "the standing of running turns is not known this time");
                Vec::new()
            }
        }
    }
}

/// The locks in front follow the leases, never the other way round. On a task of its own: a Redis that hangs delays nobody.
fn renew_locks(locks: Vec<Arc<redis_lock::Lease>>) {
    if locks.is_empty() {
        return;
    }
    tokio::spawn(async move {
        for lock in locks {
            if let Err(error) = lock.renew().await {
                tracing::debug!(%error, "locks were not renewed this time");
                return;
            }
        }
    });
}
