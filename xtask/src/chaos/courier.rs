//! Delivers webhooks as Green API does: in order, again and again until they are answered 200, and some once more after
//! that. Each contact has its own order, so that one that waits holds up no other.
//!
//! In: bodies. Out: POSTs to whichever instance is thought to live; when each was taken, in the records.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::sleep,
};

use super::{
    gateway::{channel_name, channel_of},
    instance::Instance,
    records::Book,
};
use crate::fakes::names::Marker;

/// What Baton is told to expect.
pub(super) const WEBHOOK_TOKEN: &str = "chaos-webhook-token-0123456789";
/// An instance that has not answered by then is tried no more. Green API waits three minutes.
const ANSWER_LIMIT: Duration = Duration::from_secs(6);
/// A webhook that was not taken is tried again after this, and each time after twice as long. Green API waits a minute,
/// always: who comes back at once from everywhere is a flood of his own making.
const AGAIN_MS: (u64, u64) = (250, 8_000);
/// One in so many comes once more, although it was taken.
const REPEATED_ONE_IN: usize = 25;
const REPEATED_AFTER_MS: (u64, u64) = (0, 20_000);

/// One webhook.
pub(super) struct Notice {
    pub(super) body: String,
    /// The message of a contact that it brings.
    pub(super) marker: Option<Marker>,
}

/// All orders.
pub(super) struct Courier {
    book: Arc<Book>,
    instances: OnceLock<Arc<Vec<Instance>>>,
    orders: Vec<UnboundedSender<Notice>>,
    waiting: AtomicUsize,
}

impl Courier {
    /// One for so many contacts. It sets out when it is told where to go.
    pub(super) fn new(book: Arc<Book>, contacts: usize) -> (Arc<Self>, Vec<UnboundedReceiver<Notice>>) {
        let (orders, rounds) = (0..contacts).map(|_| unbounded_channel()).unzip();
        let waiting = AtomicUsize::new(0);
        (Arc::new(Self { book, instances: OnceLock::new(), orders, waiting }), rounds)
    }

    /// Sets out.
    pub(super) fn begin(
        self: &Arc<Self>,
        instances: &Arc<Vec<Instance>>,
        rounds: Vec<UnboundedReceiver<Notice>>,
        dice: &mut fastrand::Rng,
    ) {
        // Told once; a second time would change nothing.
        let _ = self.instances.set(Arc::clone(instances));
        for (contact, round) in rounds.into_iter().enumerate() {
            tokio::spawn(Arc::clone(self).go_round(contact, round, dice.fork()));
        }
    }

    /// Takes a webhook for delivery.
    pub(super) fn hand_in(&self, contact: usize, notice: Notice) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        if let Some(order) = self.orders.get(contact) {
            // It fails only when the run is over.
            let _ = order.send(notice);
        }
    }

    /// How many have not been taken yet.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    async fn go_round(
        self: Arc<Self>,
        contact: usize,
        mut round: UnboundedReceiver<Notice>,
        mut dice: fastrand::Rng,
    ) {
        while let Some(notice) = round.recv().await {
            let mut again_ms = AGAIN_MS.0;
            while !self.deliver(contact, &notice.body, &mut dice).await {
                self.book.open().undelivered += 1;
                sleep(Duration::from_millis(dice.u64(again_ms / 2..again_ms))).await;
                again_ms = (again_ms * 2).min(AGAIN_MS.1);
            }
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            if let Some(marker) = notice.marker
                && let Some(written) = self.book.open().written.get_mut(&marker)
            {
                written.accepted = Some(Instant::now());
            }
            if dice.usize(0..REPEATED_ONE_IN) == 0 {
                self.repeat(contact, notice.body, dice.fork());
            }
        }
    }

    /// Once, to one instance. True if it was taken.
    async fn deliver(&self, contact: usize, body: &str, dice: &mut fastrand::Rng) -> bool {
        let Some(instances) = self.instances.get() else { return false };
        let living: Vec<&Instance> = instances.iter().filter(|instance| instance.seems_alive()).collect();
        let Some(instance) = dice.choice(living) else { return false };
        let path = format!("/webhooks/green-api/{}", channel_name(channel_of(contact)));
        let token = format!("Bearer {WEBHOOK_TOKEN}");
        let headers = [("Authorization", token.as_str())];
        let answer = instance.client.ask("POST", &path, &headers, body, ANSWER_LIMIT).await;
        answer.is_ok_and(|answer| answer.status == 200)
    }

    /// One more copy, sometime. Nobody waits for it, and whether it is taken does not matter.
    fn repeat(self: &Arc<Self>, contact: usize, body: String, mut dice: fastrand::Rng) {
        let courier = Arc::clone(self);
        tokio::spawn(async move {
            sleep(Duration::from_millis(dice.u64(REPEATED_AFTER_MS.0..REPEATED_AFTER_MS.1))).await;
            if courier.deliver(contact, &body, &mut dice).await {
                courier.book.open().repeated += 1;
            }
        });
    }
}
