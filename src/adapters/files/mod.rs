//! The provider's files, over HTTP. In: an address that came with a message. Out: the file as it streams in, never whole in
//! memory, within limits of size, time and number; from hosts on the list, at addresses that anyone may reach.

mod pump;

#[cfg(test)]
mod tests;

use std::{net::IpAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use reqwest::{Response, StatusCode, Url, header};
use tokio::{
    sync::{Semaphore, mpsc},
    time::{Instant, timeout, timeout_at},
};

use self::pump::Pump;
use super::{
    addresses::{Inside, Outside},
    http_client::{self, NoClient},
};
use crate::{
    domain::hosts::Hosts,
    flow::media::files::{File, Files, Range, Unfetched, kinds::FIRST_BYTES},
};

/// One hop for a signed link, and a few to spare.
const REDIRECTS_MAX: usize = 3;

/// Pieces on their way to one client.
const PIECES_MAX: usize = 4;

/// What a file may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Largest file; the provider keeps none that is larger.
    pub bytes: u64,
    /// Files being fetched at once.
    pub at_once: usize,
    /// How long one more waits for its turn.
    pub turn: Duration,
    /// A connection is up within this.
    pub connect: Duration,
    /// The first byte is there within this, redirects included.
    pub answer: Duration,
    /// No byte for this long, and it is given up.
    pub idle: Duration,
    /// A client that takes nothing for this long is let go; players come back for the rest.
    pub patience: Duration,
    /// And the whole within this.
    pub whole: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 100 << 20,
            at_once: 64,
            turn: Duration::from_secs(10),
            connect: Duration::from_secs(5),
            answer: Duration::from_secs(15),
            idle: Duration::from_secs(15),
            patience: Duration::from_secs(60),
            whole: Duration::from_secs(900),
        }
    }
}

/// The files.
pub struct Storage {
    http: reqwest::Client,
    hosts: Hosts,
    limits: Limits,
    slots: Arc<Semaphore>,
}

impl Storage {
    /// From those hosts, within those limits.
    pub fn new(hosts: Hosts, limits: Limits) -> Result<Self, NoClient> {
        let http = http_client::builder(limits.connect)?.dns_resolver(Outside).build()?;
        Ok(Self { http, hosts, limits, slots: Arc::new(Semaphore::new(limits.at_once)) })
    }

    fn may(&self, url: &Url) -> bool {
        let is_plain =
            matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return false };
        is_plain
            && match host.trim_matches(['[', ']']).parse::<IpAddr>() {
                Ok(address) => self.hosts.has_address(address, port),
                Err(_) => self.hosts.names(host, port),
            }
    }

    /// What the server answers, wherever on the list it sends us.
    async fn ask(&self, url: &str, range: Option<Range>) -> Result<Response, Unfetched> {
        let mut url = Url::parse(url).map_err(|_| Unfetched::HostNotAllowed)?;
        for _ in 0..=REDIRECTS_MAX {
            if !self.may(&url) {
                return Err(Unfetched::HostNotAllowed);
            }
            // Compressed, its bytes would not be those that are counted and asked for.
            let request = self.http.get(url.clone()).header(header::ACCEPT_ENCODING, "identity");
            let request = match range {
                Some(range) => request.header(header::RANGE, range.to_string()),
                None => request,
            };
            let response = request.send().await.map_err(unreached)?;
            if !response.status().is_redirection() {
                return Ok(response);
            }
            let location = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
            url = location.and_then(|to| url.join(to).ok()).ok_or_else(|| failed("a redirect to nowhere"))?;
        }
        Err(failed("too many redirects"))
    }
}

#[async_trait]
impl Files for Storage {
    fn are_fetched(&self) -> bool {
        !self.hosts.is_empty()
    }

    fn allows(&self, url: &str) -> bool {
        Url::parse(url).is_ok_and(|url| self.may(&url))
    }

    async fn fetch(&self, url: &str, range: Option<Range>) -> Result<File, Unfetched> {
        let slots = Arc::clone(&self.slots);
        let slot = timeout(self.limits.turn, slots.acquire_owned()).await;
        let Ok(Ok(slot)) = slot else { return Err(Unfetched::Busy) };
        let answer_by = Instant::now() + self.limits.answer;
        let asked = range.map(showing_what_it_is);
        let response =
            timeout_at(answer_by, self.ask(url, asked)).await.map_err(|_| failed("no answer in time"))??;
        let (size, mut part, skip) = placed(&response, asked)?;
        if let (Some((_, last)), Some(Range::From(_, Some(wanted)))) = (&mut part, range) {
            *last = wanted.min(*last);
        }
        let left = part.map_or(size, |(first, last)| Some(last - first + 1));
        if size.max(left).is_some_and(|bytes| bytes > self.limits.bytes) {
            return Err(Unfetched::TooLarge);
        }
        let (out, pieces) = mpsc::channel(PIECES_MAX);
        let mut pump = Pump::new(response, (skip, left), out, self.limits, slot);
        let is_from_the_beginning = skip == part.map_or(0, |(first, _)| first);
        let looks = timeout_at(answer_by, pump.look(is_from_the_beginning)).await;
        let looks = looks.map_err(|_| failed("no byte in time"))??;
        tokio::spawn(pump.run());
        Ok(File { size, part, looks, pieces })
    }
}

/// What the server is asked for: of the beginning no less than shows what the file is. Players ask for two bytes first, and
/// play nothing that is called something else then than when they ask for the rest.
fn showing_what_it_is(range: Range) -> Range {
    match range {
        Range::From(0, Some(last)) => Range::From(0, Some(last.max(FIRST_BYTES as u64 - 1))),
        range => range,
    }
}

/// Size of the whole, first and last byte of what is to be given, and how many bytes before it come too: a server that knows
/// nothing of parts gives the whole.
type Place = (Option<u64>, Option<(u64, u64)>, u64);

fn placed(response: &Response, range: Option<Range>) -> Result<Place, Unfetched> {
    let content_range = || {
        let text = response.headers().get(header::CONTENT_RANGE)?.to_str().ok()?;
        text.trim().strip_prefix("bytes ")?.split_once('/')
    };
    let size = |text: &str| text.trim().parse::<u64>().ok();
    match (response.status(), range) {
        (StatusCode::OK, range) => {
            let whole = response.content_length();
            let (Some(range), Some(whole)) = (range, whole) else { return Ok((whole, None, 0)) };
            let part = range.of(whole).ok_or(Unfetched::NoSuchPart(Some(whole)))?;
            Ok((Some(whole), Some(part), part.0))
        }
        (StatusCode::PARTIAL_CONTENT, Some(range)) => {
            let given = content_range().and_then(|(part, whole)| {
                let (first, last) = part.split_once('-')?;
                let (first, last) = (size(first)?, size(last)?);
                (first <= last && last < u64::MAX).then_some((first, last, size(whole)))
            });
            let (first, last, whole) = given.ok_or_else(|| failed("a part without its place"))?;
            // A server may give less than was asked for, but not something else.
            let is_wanted = match (whole, range) {
                (Some(whole), _) => range.of(whole).is_some_and(|(from, to)| from == first && last <= to),
                (None, Range::From(from, to)) => from == first && to.is_none_or(|to| last <= to),
                (None, Range::Last(_)) => false,
            };
            if is_wanted {
                Ok((whole, Some((first, last)), 0))
            } else {
                Err(failed("another part than was asked for"))
            }
        }
        (StatusCode::RANGE_NOT_SATISFIABLE, Some(_)) => {
            Err(Unfetched::NoSuchPart(content_range().and_then(|(_, whole)| size(whole))))
        }
        // A link that has expired is refused, not missing.
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND | StatusCode::GONE, _) => {
            Err(Unfetched::Gone)
        }
        (status, _) => Err(failed(&format!("status {}", status.as_u16()))),
    }
}

/// Nothing of the address goes on: it may hold a signature.
fn unreached(error: reqwest::Error) -> Unfetched {
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(error) = cause {
        if error.is::<Inside>() {
            return Unfetched::HostNotAllowed;
        }
        cause = error.source();
    }
    failed(if error.is_timeout() { "no connection in time" } else { "the server cannot be reached" })
}

fn failed(what: &str) -> Unfetched {
    Unfetched::Failed(what.to_owned())
}
