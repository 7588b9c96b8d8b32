//! Step: a file that somebody here sent, piece by piece from where it is kept.
//!
//! In: the message that carries it, and the part wanted. Out: the file, never whole in memory, and no more at once than there
//! are slots: who asks for one and then takes nothing may be many.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{Instant, timeout},
};
use uuid::Uuid;

use super::{
    enclosures::Enclosures,
    files::{File, Looks, Piece, Range, Unfetched, kinds::FIRST_BYTES},
};
use crate::flow::ledger::Error;

/// Bytes of a piece.
const PIECE: usize = 256 * 1024;

/// Files on their way at once.
const AT_ONCE: usize = 64;

/// How long one more waits for its turn.
const TURN: Duration = Duration::from_secs(10);

/// Who takes nothing for this long is let go; players come back for the rest.
const PATIENCE: Duration = Duration::from_secs(60);

/// And the whole within this.
const WHOLE: Duration = Duration::from_secs(900);

/// The files.
pub(super) struct KeptFiles {
    enclosures: Arc<dyn Enclosures>,
    slots: Arc<Semaphore>,
}

impl KeptFiles {
    /// From that place.
    pub(super) fn new(enclosures: Arc<dyn Enclosures>) -> Self {
        Self { enclosures, slots: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// The file of a message, or that part of it.
    pub(super) async fn fetch(&self, message: Uuid, range: Option<Range>) -> Result<File, Unfetched> {
        let slot = timeout(TURN, Arc::clone(&self.slots).acquire_owned()).await;
        let Ok(Ok(slot)) = slot else { return Err(Unfetched::Busy) };
        let size = self.enclosures.enclosed_size(message).await.map_err(failed)?.ok_or(Unfetched::Gone)?;
        let part = match range {
            Some(range) => Some(range.of(size).ok_or(Unfetched::NoSuchPart(Some(size)))?),
            None => None,
        };
        let (from, to) = part.map_or((0, size), |(first, last)| (first, last + 1));
        let (out, pieces) = mpsc::channel(1);
        let enclosures = Arc::clone(&self.enclosures);
        let mut rest = Rest { enclosures, message, at: from, end: to, out, _slot: slot };
        let (first, looks) = rest.begin(size).await?;
        tokio::spawn(rest.run(first));
        Ok(File { size: Some(size), part, looks, pieces })
    }
}

/// What of a file is still to come.
struct Rest {
    enclosures: Arc<dyn Enclosures>,
    message: Uuid,
    /// The next byte.
    at: u64,
    /// The one behind the last.
    end: u64,
    out: mpsc::Sender<Piece>,
    _slot: OwnedSemaphorePermit,
}

impl Rest {
    /// The first piece, and what it shows the file to be. Players ask for two bytes first: so much is read that it is seen.
    async fn begin(&mut self, size: u64) -> Result<(Bytes, Looks), Unfetched> {
        let wanted = length(self.at, self.end);
        if self.at > 0 {
            return Ok((self.piece(wanted).await?, Looks::Unseen));
        }
        let seen = self.piece(wanted.max(FIRST_BYTES.min(length(0, size)))).await?;
        let looks = Looks::of(&seen[..seen.len().min(FIRST_BYTES)]);
        Ok((seen.slice(..seen.len().min(wanted)), looks))
    }

    async fn run(mut self, first: Bytes) {
        match self.pass_on(first).await {
            // Who has gone meanwhile needs no end.
            Ok(true) => drop(self.out.send_timeout(Piece::End, PATIENCE).await),
            Ok(false) => tracing::debug!("a file was broken off on its way"),
            Err(error) => tracing::warn!(%error, "a file was broken off on its way"),
        }
    }

    /// False: nobody takes it, or not in time. No question to the store is broken off.
    async fn pass_on(&mut self, first: Bytes) -> Result<bool, Unfetched> {
        let ends_at = Instant::now() + WHOLE;
        let mut piece = first;
        loop {
            self.at += piece.len() as u64;
            if !piece.is_empty() && self.out.send_timeout(Piece::Part(piece), PATIENCE).await.is_err() {
                return Ok(false);
            }
            if self.at >= self.end {
                return Ok(true);
            }
            if Instant::now() >= ends_at {
                return Ok(false);
            }
            piece = self.piece(length(self.at, self.end)).await?;
        }
    }

    /// That many bytes, from where it is.
    async fn piece(&self, length: usize) -> Result<Bytes, Unfetched> {
        if length == 0 {
            return Ok(Bytes::new());
        }
        let found = self.enclosures.enclosed_piece(self.message, self.at, length).await.map_err(failed)?;
        // It was erased meanwhile.
        found.filter(|piece| piece.len() == length).ok_or(Unfetched::Gone)
    }
}

/// How long the piece is that begins here.
fn length(at: u64, end: u64) -> usize {
    usize::try_from(end - at).map_or(PIECE, |left| left.min(PIECE))
}

fn failed(error: Error) -> Unfetched {
    Unfetched::Failed(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;

    use super::*;
    use crate::domain::time::Time;

    /// One file, and what was read of it.
    struct Drawer {
        bytes: Bytes,
        read: Mutex<Vec<(u64, usize)>>,
    }

    #[async_trait]
    impl Enclosures for Drawer {
        async fn enclose(&self, _: Uuid, _: Bytes) -> Result<(), Error> {
            Err(Error::Gone)
        }

        async fn enclosed(&self, _: Uuid) -> Result<Option<Bytes>, Error> {
            Err(Error::Gone)
        }

        async fn enclosed_size(&self, _: Uuid) -> Result<Option<u64>, Error> {
            Ok(Some(self.bytes.len() as u64))
        }

        async fn enclosed_piece(&self, _: Uuid, from: u64, length: usize) -> Result<Option<Bytes>, Error> {
            self.read.lock().expect("not poisoned").push((from, length));
            let from = usize::try_from(from).expect("a number");
            Ok(Some(self.bytes.slice(from..self.bytes.len().min(from + length))))
        }

        async fn let_go_of(&self, _: Uuid) -> Result<(), Error> {
            Err(Error::Gone)
        }

        async fn forget_loose(&self, _: Time) -> Result<u64, Error> {
            Err(Error::Gone)
        }
    }

    fn of(size: usize) -> (Arc<Drawer>, KeptFiles, Bytes) {
        let picture = b"\x89PNG\r\n\x1a\n and so on ".iter().copied().cycle().take(size);
        let bytes: Bytes = picture.collect::<Vec<u8>>().into();
        let drawer = Arc::new(Drawer { bytes: bytes.clone(), read: Mutex::default() });
        (Arc::clone(&drawer), KeptFiles::new(drawer), bytes)
    }

    /// All bytes; None: it broke off.
    async fn whole(mut file: File) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        while let Some(piece) = file.pieces.recv().await {
            match piece {
                Piece::Part(part) => bytes.extend_from_slice(&part),
                Piece::End => return Some(bytes),
            }
        }
        None
    }

    #[tokio::test]
    async fn a_kept_file_comes_piece_by_piece_and_whole() {
        for size in [0, 1, PIECE, 2 * PIECE + 7] {
            let (drawer, files, bytes) = of(size);
            let file = files.fetch(Uuid::nil(), None).await.expect("it is there");
            assert_eq!((file.size, file.part), (Some(size as u64), None));
            assert_eq!(whole(file).await.as_deref(), Some(&bytes[..]), "{size}");
            let read = drawer.read.lock().expect("not poisoned").clone();
            assert!(read.iter().all(|(_, length)| *length <= PIECE), "{read:?}");
        }
    }

    #[tokio::test]
    async fn of_a_kept_file_only_the_part_that_is_wanted_is_read() {
        let (drawer, files, bytes) = of(3 * PIECE);
        let thousand = Range::From(PIECE as u64, Some(PIECE as u64 + 1_023));
        let file = files.fetch(Uuid::nil(), Some(thousand)).await.expect("it is there");
        assert_eq!((file.length(), file.looks), (Some(1_024), Looks::Unseen));
        assert_eq!(whole(file).await.as_deref(), Some(&bytes[PIECE..PIECE + 1_024]));
        let file = files.fetch(Uuid::nil(), Some(Range::From(0, Some(1)))).await.expect("it is there");
        assert_eq!((file.part, file.looks), (Some((0, 1)), Looks::Like("image/png")));
        assert_eq!(whole(file).await.as_deref(), Some(&bytes[..2]));
        let file = files.fetch(Uuid::nil(), Some(Range::Last(3))).await.expect("it is there");
        assert_eq!(whole(file).await.as_deref(), Some(&bytes[3 * PIECE - 3..]));
        let behind = files.fetch(Uuid::nil(), Some(Range::From(3 * PIECE as u64, None))).await;
        assert_eq!(behind.err(), Some(Unfetched::NoSuchPart(Some(3 * PIECE as u64))));
        let read = drawer.read.lock().expect("not poisoned").clone();
        let last = 3 * PIECE as u64 - 3;
        assert_eq!(read, [(PIECE as u64, 1_024), (0, FIRST_BYTES), (last, 3)]);
    }

    #[tokio::test(start_paused = true)]
    async fn with_every_slot_held_one_more_kept_file_is_told_to_come_again() {
        let (_, files, bytes) = of(9 * PIECE);
        let mut held = Vec::new();
        for _ in 0..AT_ONCE {
            held.push(files.fetch(Uuid::nil(), None).await.expect("a slot"));
        }
        let busy = files.fetch(Uuid::nil(), None).await;
        assert_eq!(busy.err(), Some(Unfetched::Busy));
        assert_eq!(held.pop().map(whole).expect("one").await.as_deref(), Some(&bytes[..]));
        let file = files.fetch(Uuid::nil(), None).await.expect("a slot that somebody gave back");
        drop(held);
        assert_eq!(whole(file).await.as_deref(), Some(&bytes[..]));
    }
}
