//! Step: a file that somebody wants to see, from where the provider keeps it, or from here if somebody here sent it.
//!
//! In: a message, and the part wanted. Out: the file, by the link that came with the message, or by another that the
//! provider gives once that one has expired.

pub mod files;

pub mod enclosures;

mod kept;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use uuid::Uuid;

use super::{
    archive::Placed,
    instance::channels::Channels,
    media::{
        enclosures::Enclosures,
        files::{Availability, File, Files, Range, Unfetched},
        kept::KeptFiles,
    },
};
use crate::domain::message::Message;

/// How long a link is used that the provider gave again.
const LINK_KEPT: Duration = Duration::from_secs(3_600);

/// Links remembered. Looking through more old messages asks again.
const LINKS_MAX: usize = 1_000;

/// The step.
pub struct Fetching {
    files: Arc<dyn Files>,
    kept: KeptFiles,
    channels: Arc<Channels>,
    /// Links that were given again, by message.
    links: Mutex<HashMap<Uuid, (String, Instant)>>,
}

impl Fetching {
    /// From those places, with the providers of those channels to ask for links.
    pub fn new(files: Arc<dyn Files>, enclosures: Arc<dyn Enclosures>, channels: Arc<Channels>) -> Self {
        Self { files, kept: KeptFiles::new(enclosures), channels, links: Mutex::default() }
    }

    /// Whether the file of a message is available, as far as the message shows; None: it has none.
    pub fn standing(&self, message: &Message) -> Option<Availability> {
        let media = message.media.as_ref()?;
        Some(if media.is_kept {
            Availability::Available
        } else if media.is_too_large {
            Availability::TooLarge
        } else if !self.files.are_fetched() || !(media.url.is_empty() || self.files.allows(&media.url)) {
            Availability::HostNotAllowed
        } else if media.url.is_empty() && message.provider_message_id.is_none() {
            Availability::Gone
        } else {
            Availability::Available
        })
    }

    /// The file of a message, or that part of it.
    pub async fn fetch(&self, placed: &Placed, range: Option<Range>) -> Result<File, Unfetched> {
        let message = &placed.message;
        match self.standing(message) {
            None | Some(Availability::Gone) => return Err(Unfetched::Gone),
            Some(Availability::HostNotAllowed) => return Err(Unfetched::HostNotAllowed),
            Some(Availability::TooLarge) => return Err(Unfetched::TooLarge),
            Some(Availability::Available) => {}
        }
        if message.media.as_ref().is_some_and(|media| media.is_kept) {
            return self.kept.fetch(message.id, range).await;
        }
        let known = self.known(message.id).or_else(|| message.media.as_ref().map(|media| media.url.clone()));
        if let Some(url) = known.as_ref().filter(|url| !url.is_empty()) {
            match self.files.fetch(url, range).await {
                Err(Unfetched::Gone) => {}
                outcome => return outcome,
            }
        }
        let link =
            self.ask(placed).await?.filter(|link| known.as_ref() != Some(link)).ok_or(Unfetched::Gone)?;
        let file = self.files.fetch(&link, range).await?;
        self.remember(message.id, link);
        Ok(file)
    }

    /// Another link, if the provider has one.
    async fn ask(&self, placed: &Placed) -> Result<Option<String>, Unfetched> {
        let (Some(channel), Some(id)) =
            (self.channels.get(&placed.channel), placed.message.provider_message_id.as_deref())
        else {
            return Ok(None);
        };
        let link = channel.provider.file_link(&placed.chat, id).await;
        link.map_err(|unanswered| Unfetched::Failed(unanswered.detail))
    }

    fn known(&self, message: Uuid) -> Option<String> {
        let links = self.links();
        links.get(&message).filter(|(_, at)| at.elapsed() < LINK_KEPT).map(|(link, _)| link.clone())
    }

    fn remember(&self, message: Uuid, link: String) {
        let mut links = self.links();
        if links.len() >= LINKS_MAX {
            links.clear();
        }
        links.insert(message, (link, Instant::now()));
    }

    fn links(&self) -> MutexGuard<'_, HashMap<Uuid, (String, Instant)>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
