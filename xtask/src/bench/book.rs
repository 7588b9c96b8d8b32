//! What happened during one load, as the fakes and those who wrote saw it, all by one clock.
//!
//! In: every webhook, call of the model and message at the gateway. Out: the same for the judge, and how many messages
//! still wait for their answer, for whoever waits with them.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard},
    time::Instant,
};

use tokio::sync::watch;

use crate::fakes::{
    lock,
    names::{Marker, Part},
    wire::Ended,
};

/// When a contact wrote something, and when that had been taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    pub(super) at: Instant,
    pub(super) taken: Option<Instant>,
    pub(super) is_answered: bool,
}

/// A call of the model.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) at: Instant,
    pub(super) contact: Option<usize>,
    pub(super) ended: Option<(Instant, Ended)>,
}

/// A message at the gateway.
#[derive(Debug, Clone)]
pub(super) struct Arrival {
    pub(super) at: Instant,
    /// Whose chat it was sent to.
    pub(super) contact: Option<usize>,
    /// What it answers.
    pub(super) names: Vec<Marker>,
    /// Which call it came from.
    pub(super) call: Option<usize>,
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) written: HashMap<Marker, Written>,
    pub(super) calls: Vec<Call>,
    pub(super) arrivals: Vec<Arrival>,
    /// How often a webhook was not answered 200, and came again.
    pub(super) refused: usize,
    /// Webhooks delivered once more after they had been taken.
    pub(super) repeated: usize,
    /// When the model was first asked about what a contact wrote.
    pub(super) first_calls: HashMap<usize, Instant>,
    pub(super) calls_now: usize,
    pub(super) calls_most: usize,
}

/// Where everybody writes.
#[derive(Debug)]
pub(super) struct Book {
    records: Mutex<Records>,
    answered: watch::Sender<usize>,
    called: watch::Sender<()>,
}

impl Book {
    pub(super) fn new() -> Self {
        Self { records: Mutex::default(), answered: watch::Sender::new(0), called: watch::Sender::new(()) }
    }

    /// The records, for a moment.
    pub(super) fn open(&self) -> MutexGuard<'_, Records> {
        lock(&self.records)
    }

    /// All that was written down, to be kept by the caller. The next load begins with nothing.
    pub(super) fn take(&self) -> Records {
        let records = std::mem::take(&mut *self.open());
        self.answered.send_replace(0);
        records
    }

    /// How many messages have been answered, from now on.
    pub(super) fn answered(&self) -> watch::Receiver<usize> {
        self.answered.subscribe()
    }

    /// A call of the model begins. Returns its number.
    pub(super) fn call(&self, at: Instant, names: &[Marker]) -> usize {
        let contact = names.first().map(|marker| marker.contact);
        let mut records = self.open();
        records.calls_now += 1;
        records.calls_most = records.calls_most.max(records.calls_now);
        records.calls.push(Call { at, contact, ended: None });
        let call = records.calls.len() - 1;
        if let Some(contact) = contact {
            records.first_calls.entry(contact).or_insert(at);
        }
        drop(records);
        self.called.send_replace(());
        call
    }

    /// Waits until the model is asked about what a contact wrote, and says when that was.
    pub(super) async fn first_call(&self, contact: usize) -> Instant {
        let mut called = self.called.subscribe();
        loop {
            if let Some(at) = self.open().first_calls.get(&contact) {
                return *at;
            }
            // It fails only without a sender, and that is ours.
            let _ = called.changed().await;
        }
    }

    /// A call has ended.
    pub(super) fn call_ended(&self, call: usize, ended: Ended) {
        let mut records = self.open();
        records.calls_now = records.calls_now.saturating_sub(1);
        if let Some(call) = records.calls.get_mut(call) {
            call.ended = Some((Instant::now(), ended));
        }
    }

    /// A message has come to the gateway.
    pub(super) fn arrival(&self, at: Instant, contact: Option<usize>, text: &str) {
        let names = Marker::all_in(text);
        let call = Part::all_in(text).first().map(|part| part.call);
        let mut records = self.open();
        let mut fresh = 0;
        for name in &names {
            if let Some(written) = records.written.get_mut(name) {
                fresh += usize::from(!std::mem::replace(&mut written.is_answered, true));
            }
        }
        records.arrivals.push(Arrival { at, contact, names, call });
        drop(records);
        self.answered.send_modify(|answered| *answered += fresh);
    }
}
