use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use uuid::Uuid;

use crate::{
    domain::{
        endpoint::{Attempt, Endpoint, State, Trouble},
        time::Time,
    },
    flow::{
        archive::{Page, PageOf, Recorded},
        ledger::Error,
        notify::{
            Bodies,
            endpoints::{Change, Delivery, Due, Ended, Endpoints, Served, Summary},
            receivers::{Parcel, Receivers},
        },
    },
};

/// Webhook endpoints, and the world outside, which answers 500.
#[derive(Default)]
pub(in super::super) struct Postbox {
    pub(in super::super) endpoints: Mutex<Vec<(Endpoint, Vec<Vec<u8>>)>>,
    pub(in super::super) deliveries: Mutex<Vec<Delivery>>,
    pub(in super::super) posted: Mutex<Vec<Parcel>>,
    /// The next endpoint that is looked at is for all channels just after that.
    pub(in super::super) is_widened: AtomicBool,
}

impl Postbox {
    fn standing(&self, endpoint: &Endpoint) -> Summary {
        let of = |it: &&Delivery| it.endpoint == endpoint.id;
        let last = self.deliveries.lock().unwrap().iter().rev().find(of).cloned();
        Summary { endpoint: endpoint.clone(), waiting: 0, last }
    }
}

/// Whether what is for these channels is for some of those, and for no other.
pub(super) fn is_within(channels: &Option<Vec<String>>, within: Option<&[String]>) -> bool {
    within.is_none_or(|within| {
        let is_one = |name| within.contains(name);
        channels.as_ref().is_some_and(|some| !some.is_empty() && some.iter().all(is_one))
    })
}

#[async_trait]
impl Endpoints for Postbox {
    async fn endpoints(&self) -> Result<Vec<Summary>, Error> {
        Ok(self.endpoints.lock().unwrap().iter().map(|(it, _)| self.standing(it)).collect())
    }

    async fn endpoint(&self, id: Uuid) -> Result<Option<Summary>, Error> {
        let mut all = self.endpoints.lock().unwrap();
        let found = all.iter().find(|(it, _)| it.id == id).map(|(it, _)| self.standing(it));
        if self.is_widened.swap(false, Ordering::SeqCst) {
            all.iter_mut().filter(|(it, _)| it.id == id).for_each(|(it, _)| it.channels = None);
        }
        Ok(found)
    }

    async fn add_endpoint(&self, endpoint: &Endpoint, sealed: Vec<u8>) -> Result<bool, Error> {
        self.endpoints.lock().unwrap().push((endpoint.clone(), vec![sealed]));
        Ok(true)
    }

    async fn change_endpoint(&self, id: Uuid, change: &Change, now: Time) -> Result<bool, Error> {
        let mut all = self.endpoints.lock().unwrap();
        let is_it = |it: &Endpoint| it.id == id && is_within(&it.channels, change.within.as_deref());
        let Some((it, _)) = all.iter_mut().find(|(it, _)| is_it(it)) else { return Ok(false) };
        it.updated_at = now;
        it.url = change.url.clone().unwrap_or(it.url.clone());
        it.events = change.events.clone().unwrap_or(it.events.clone());
        it.channels = change.channels.clone().unwrap_or(it.channels.clone());
        it.description = change.description.clone().unwrap_or(it.description.clone());
        if let Some(state) = change.state {
            it.state = state;
            it.disabled_reason = None;
        }
        Ok(true)
    }

    async fn change_secret(
        &self,
        id: Uuid,
        sealed: Vec<u8>,
        _: Time,
        within: Option<&[String]>,
    ) -> Result<bool, Error> {
        let mut all = self.endpoints.lock().unwrap();
        let found = all.iter_mut().find(|(it, _)| it.id == id && is_within(&it.channels, within));
        Ok(found.map(|(_, secrets)| secrets.insert(0, sealed)).is_some())
    }

    async fn secrets(&self, id: Uuid) -> Result<Vec<Vec<u8>>, Error> {
        let all = self.endpoints.lock().unwrap();
        Ok(all.iter().find(|(it, _)| it.id == id).map(|(_, secrets)| secrets.clone()).unwrap_or_default())
    }

    async fn remove_endpoint(&self, id: Uuid, within: Option<&[String]>) -> Result<bool, Error> {
        let mut all = self.endpoints.lock().unwrap();
        let before = all.len();
        all.retain(|(it, _)| it.id != id || !is_within(&it.channels, within));
        Ok(all.len() < before)
    }

    async fn deliveries(
        &self,
        endpoint: Uuid,
        channels: Option<&[String]>,
        _: &PageOf,
    ) -> Result<Page<Delivery>, Error> {
        let all = self.deliveries.lock().unwrap();
        let is_shown = |it: &&Delivery| {
            it.endpoint == endpoint
                && (it.event.is_none() || channels.is_none_or(|names| names.contains(&it.channel)))
        };
        let items = all.iter().rev().filter(is_shown).cloned().collect();
        Ok(Page { items, next: None })
    }

    async fn delivery(&self, id: Uuid) -> Result<Option<Delivery>, Error> {
        Ok(self.deliveries.lock().unwrap().iter().find(|it| it.id == id).cloned())
    }

    async fn keep_test(&self, test: &Delivery) -> Result<(), Error> {
        self.deliveries.lock().unwrap().push(test.clone());
        Ok(())
    }

    async fn tell_again(&self, id: Uuid) -> Result<bool, Error> {
        Ok(self.delivery(id).await?.is_some())
    }

    async fn active(&self) -> Result<Vec<Uuid>, Error> {
        let all = self.endpoints.lock().unwrap();
        Ok(all.iter().filter(|(it, _)| it.state == State::Active).map(|(it, _)| it.id).collect())
    }

    async fn hold(&self, _: Uuid, _: &str, _: i64) -> Result<bool, Error> {
        Ok(false)
    }

    async fn let_go(&self, _: Uuid, _: &str) -> Result<(), Error> {
        Ok(())
    }

    async fn served(&self, _: Uuid, _: &str) -> Result<Option<Served>, Error> {
        Ok(None)
    }

    async fn gather(&self, _: &Served, _: usize) -> Result<usize, Error> {
        Ok(0)
    }

    async fn due(&self, _: Uuid, _: usize) -> Result<Vec<Due>, Error> {
        Ok(Vec::new())
    }

    async fn settle(&self, _: &Due, _: &Ended) -> Result<(), Error> {
        Ok(())
    }

    async fn forget_deliveries(&self, _: Time) -> Result<u64, Error> {
        Ok(0)
    }
}

#[async_trait]
impl Receivers for Postbox {
    fn refuses(&self, url: &str) -> Option<String> {
        let is_taken = url.starts_with("https://") || self.is_named(url);
        (!is_taken).then(|| "must be https".to_owned())
    }

    fn is_named(&self, url: &str) -> bool {
        url.starts_with("http://inside.")
    }

    async fn post(&self, parcel: Parcel) -> Attempt {
        self.posted.lock().unwrap().push(parcel);
        Attempt {
            status: Some(500),
            trouble: Some(Trouble::Refused),
            answer: Some("no".to_owned()),
            ..Attempt::default()
        }
    }
}

#[async_trait]
impl Bodies for Postbox {
    async fn body(&self, event: &Recorded) -> Result<Bytes, Error> {
        Ok(event.id.clone().into_bytes().into())
    }
}
