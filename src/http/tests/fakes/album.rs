use std::sync::Mutex;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::{
    domain::time::Time,
    flow::{
        ledger::Error,
        media::{
            enclosures::Enclosures,
            files::{File, Files, Looks, Piece, Range, Unfetched},
        },
    },
};

/// Files of one host, each under its name.
#[derive(Default)]
pub(in super::super) struct Album {
    pub(in super::super) files: Mutex<Vec<(&'static str, Outcome)>>,
    pub(in super::super) kept: Mutex<Vec<(Uuid, Bytes)>>,
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

#[async_trait]
impl Enclosures for Album {
    async fn enclose(&self, message: Uuid, bytes: Bytes) -> Result<(), Error> {
        self.kept.lock().expect("not poisoned").push((message, bytes));
        Ok(())
    }

    async fn enclosed(&self, message: Uuid) -> Result<Option<Bytes>, Error> {
        let kept = self.kept.lock().expect("not poisoned");
        Ok(kept.iter().find(|(id, _)| *id == message).map(|(_, bytes)| bytes.clone()))
    }

    async fn enclosed_size(&self, message: Uuid) -> Result<Option<u64>, Error> {
        Ok(self.enclosed(message).await?.map(|bytes| bytes.len() as u64))
    }

    async fn enclosed_piece(&self, message: Uuid, from: u64, length: usize) -> Result<Option<Bytes>, Error> {
        let from = usize::try_from(from).unwrap();
        let found = self.enclosed(message).await?;
        Ok(found.map(|bytes| bytes.slice(from.min(bytes.len())..bytes.len().min(from + length))))
    }

    async fn let_go_of(&self, message: Uuid) -> Result<(), Error> {
        self.kept.lock().expect("not poisoned").retain(|(id, _)| *id != message);
        Ok(())
    }

    async fn forget_loose(&self, _: Time) -> Result<u64, Error> {
        Ok(0)
    }
}
