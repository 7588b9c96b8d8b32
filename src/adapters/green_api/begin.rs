//! The last check before a send. In: the body of a request and the moment by which it must begin. Out: the body, if the
//! connection asks for it in time; else an error, and then no complete request ever reaches the gateway.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::flow::provider::boot_time;

/// How far a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing was written.
    Waiting,
    /// Writing began: whatever happens now, it may have arrived.
    Begun,
    /// The moment had passed; nothing was written.
    Late,
}

/// Tells how far the request came that holds the other end.
#[derive(Debug, Clone)]
pub(super) struct Watch(Arc<AtomicU8>);

impl Watch {
    pub(super) fn progress(&self) -> Progress {
        match self.0.load(Ordering::Acquire) {
            0 => Progress::Waiting,
            1 => Progress::Begun,
            _ => Progress::Late,
        }
    }

    fn set(&self, progress: Progress) {
        let value = match progress {
            Progress::Waiting => 0,
            Progress::Begun => 1,
            Progress::Late => 2,
        };
        self.0.store(value, Ordering::Release);
    }
}

/// A body that is handed out whole, once, and only in time. The connection asks for it when it is open and has the head
/// of the request in its buffer, not yet on the wire; head and body then leave together. So this is the last act before
/// the write, and time spent on connecting counts.
pub(super) struct TimedBody {
    bytes: Bytes,
    begin_by: Duration,
    watch: Watch,
}

impl TimedBody {
    pub(super) fn new(bytes: impl Into<Bytes>, begin_by: Duration) -> (Self, Watch) {
        let watch = Watch(Arc::new(AtomicU8::new(0)));
        (Self { bytes: bytes.into(), begin_by, watch: watch.clone() }, watch)
    }
}

/// The moment to begin had passed.
#[derive(Debug, thiserror::Error)]
#[error("too late to begin")]
pub(super) struct TooLate;

impl Body for TimedBody {
    type Data = Bytes;
    type Error = TooLate;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TooLate>>> {
        if self.bytes.is_empty() {
            return Poll::Ready(None);
        }
        if boot_time() > self.begin_by {
            self.watch.set(Progress::Late);
            return Poll::Ready(Some(Err(TooLate)));
        }
        self.watch.set(Progress::Begun);
        Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.bytes)))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Exact, so that the request carries its length and is incomplete without every byte of it.
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}
