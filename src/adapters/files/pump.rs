//! The bytes of one file, from the server to who asked. In: an answer whose head has come. Out: pieces, as fast as they are
//! taken, and an end only if all of it came.

use std::{collections::VecDeque, time::Duration};

use bytes::{Buf, Bytes};
use reqwest::Response;
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    time::{Instant, timeout, timeout_at},
};

use super::{Limits, failed};
use crate::flow::media::files::{Looks, Piece, Unfetched, kinds::FIRST_BYTES};

/// A file on its way.
pub(super) struct Pump {
    response: Response,
    /// Read to look at the first bytes, and not passed on yet.
    seen: VecDeque<Bytes>,
    /// Bytes that are not wanted and come first.
    skip: u64,
    /// Bytes still to be passed on; None: nobody says how many.
    left: Option<u64>,
    /// How many may come where nobody says.
    most: u64,
    idle: Duration,
    patience: Duration,
    ends_at: Instant,
    out: mpsc::Sender<Piece>,
    _slot: OwnedSemaphorePermit,
}

impl Pump {
    pub(super) fn new(
        response: Response,
        (skip, left): (u64, Option<u64>),
        out: mpsc::Sender<Piece>,
        limits: Limits,
        slot: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            response,
            seen: VecDeque::new(),
            skip,
            left,
            most: limits.bytes,
            idle: limits.idle,
            patience: limits.patience,
            ends_at: Instant::now() + limits.whole,
            out,
            _slot: slot,
        }
    }

    /// What the file looks like, if it comes from its beginning.
    pub(super) async fn look(&mut self, is_from_the_beginning: bool) -> Result<Looks, Unfetched> {
        if !is_from_the_beginning {
            return Ok(Looks::Unseen);
        }
        let mut first = Vec::with_capacity(FIRST_BYTES);
        while first.len() < FIRST_BYTES {
            let Some(bytes) = self.response.chunk().await.map_err(|_| failed("the connection broke"))? else {
                break;
            };
            first.extend(bytes.iter().take(FIRST_BYTES - first.len()));
            self.seen.push_back(bytes);
        }
        Ok(Looks::of(&first))
    }

    pub(super) async fn run(mut self) {
        if self.pass_on().await.is_some() {
            // Who has gone meanwhile needs no end.
            let _ = self.out.send_timeout(Piece::End, self.patience).await;
        } else {
            tracing::debug!("a file was broken off on its way");
        }
    }

    /// None: not all of it came, or nobody takes it.
    async fn pass_on(&mut self) -> Option<()> {
        while self.left != Some(0) {
            let Some(mut bytes) = self.next().await? else { break };
            let skipped = self.skip.min(length(&bytes));
            bytes.advance(usize::try_from(skipped).ok()?);
            self.skip -= skipped;
            match &mut self.left {
                Some(left) => {
                    bytes.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= length(&bytes);
                }
                None => self.most = self.most.checked_sub(length(&bytes))?,
            }
            if !bytes.is_empty() {
                self.out.send_timeout(Piece::Part(bytes), self.patience).await.ok()?;
            }
        }
        (self.left.unwrap_or(0) == 0).then_some(())
    }

    /// What comes next; Some(None): the server has no more.
    async fn next(&mut self) -> Option<Option<Bytes>> {
        if let Some(bytes) = self.seen.pop_front() {
            return Some(Some(bytes));
        }
        let chunk = timeout(self.idle, self.response.chunk());
        timeout_at(self.ends_at, chunk).await.ok()?.ok()?.ok()
    }
}

fn length(bytes: &Bytes) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
