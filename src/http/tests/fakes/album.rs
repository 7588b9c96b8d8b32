use std::sync::Mutex;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::flow::files::{File, Files, Looks, Piece, Range, Unfetched};

/// Files of one host, each under its name.
#[derive(Default)]
pub(in super::super) struct Album {
    pub(in super::super) files: Mutex<Vec<(&'static str, Outcome)>>,
}

/// What becomes of a fetch.
pub(in super::super) type Outcome = Result<&'static [u8], Unfetched>;

/// This file breaks off in the middle.
pub(in super::super) const BROKEN: &str = "broken";

/// Nobody says how large this one is.
pub(in super::super) const ENDLESS: &str = "endless";

#[async_trait]
impl Files for Album {
    fn are_fetched(&self) -> bool {
        true
    }

    fn allows(&self, url: &str) -> bool {
        url.starts_with("https://files.test/")
    }

    async fn fetch(&self, url: &str, range: Option<Range>) -> Result<File, Unfetched> {
        let name = url.strip_prefix("https://files.test/").ok_or(Unfetched::HostNotAllowed)?;
        let found = self.files.lock().unwrap().iter().find(|(known, _)| *known == name).cloned();
        let bytes = found.ok_or(Unfetched::Gone)?.1?;
        let size = u64::try_from(bytes.len()).unwrap();
        let part = match range {
            Some(range) => Some(range.of(size).ok_or(Unfetched::NoSuchPart(Some(size)))?),
            None => None,
        };
        let (first, last) = part.unwrap_or((0, size - 1));
        let wanted = &bytes[usize::try_from(first).unwrap()..=usize::try_from(last).unwrap()];
        let (out, pieces) = mpsc::channel(99);
        for piece in wanted.chunks(5) {
            out.try_send(Piece::Part(Bytes::from_static(piece))).unwrap();
        }
        if name != BROKEN {
            out.try_send(Piece::End).unwrap();
        }
        let looks = if first == 0 { Looks::of(bytes) } else { Looks::Unseen };
        Ok(File { size: (name != ENDLESS).then_some(size), part, looks, pieces })
    }
}
