//! Reads an answer off the wire, within limits of time and size. In: the bytes of a body, cut anywhere. Out: an answer
//! that has an end, or a failure; and the words so far for onlookers.

use std::{
    future::ready,
    pin::pin,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use serde_json::Value;
use sse_stream::{Sse, SseByteStream};
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    Flow, Wire,
    assembly::Assembly,
    failure::{self, failed},
    halves,
};
use crate::flow::generator::{Failure, FailureKind, Progress, Written};

/// Largest answer that is kept, and largest piece of one that is read.
const ANSWER_MAX_BYTES: usize = 4 << 20;

/// Longest stream that is read: each word travels in 200 to 500 bytes of JSON, unread thoughts included, and models think for
/// tens of thousands of words.
const STREAM_MAX_BYTES: usize = 32 << 20;

/// Onlookers are notified at most this often.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// How long an answer that has its finish reason waits for the count of tokens and the end marker behind it.
const LINGER: Duration = Duration::from_secs(1);

/// Reads an answer to its end: a stream of events, or one JSON body of a server that ignores `stream`. Its first byte tells which,
/// for what servers say of its type is often wrong.
pub(crate) async fn read<W, S, E>(
    bytes: S,
    idle: Duration,
    progress: &dyn Progress,
) -> Result<Written, Failure>
where
    W: Wire,
    S: Stream<Item = Result<Bytes, E>> + Send,
{
    // Read, and not yet part of any event.
    let pending = AtomicUsize::new(0);
    let bytes = limited(bytes, idle, STREAM_MAX_BYTES).map(|piece| {
        let piece = piece?;
        let pending = pending.fetch_add(piece.len(), Ordering::Relaxed) + piece.len();
        if pending > ANSWER_MAX_BYTES { Err(Broken::TooLong(ANSWER_MAX_BYTES)) } else { Ok(piece) }
    });
    let mut bytes = pin!(bytes);
    let begin = begin(&mut bytes).await.map_err(Broken::failure)?;
    let first = begin.first().copied();
    let bytes = stream::once(ready(Ok(begin))).chain(bytes);
    match first {
        Some(b'{' | b'[') => whole::<W>(gathered(bytes).await?),
        _ => read_events::<W>(bytes, &pending, first, progress).await,
    }
}

/// What comes first, without blanks and the mark of a byte order. Nothing, if nothing else comes.
async fn begin<S>(bytes: &mut S) -> Result<Bytes, Broken>
where
    S: Stream<Item = Result<Bytes, Broken>> + Unpin,
{
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(byte);
    while let Some(piece) = bytes.next().await {
        let mut piece = piece?;
        if let Some(at) = piece.iter().position(|byte| !is_blank(byte)) {
            return Ok(piece.split_off(at));
        }
    }
    Ok(Bytes::new())
}

async fn read_events<W: Wire>(
    bytes: impl Stream<Item = Result<Bytes, Broken>> + Send,
    pending: &AtomicUsize,
    first: Option<u8>,
    progress: &dyn Progress,
) -> Result<Written, Failure> {
    let is_over = AtomicBool::new(false);
    // Some servers leave out the blank line behind their last event, without which it is none.
    let blank_line = async {
        is_over.store(true, Ordering::Relaxed);
        Ok(Bytes::from_static(b"\n\n"))
    };
    let mut events = pin!(SseByteStream::new(bytes.chain(stream::once(blank_line))));
    let (mut assembly, mut half) = (Assembly::default(), None);
    let mut pace = Pace::default();
    let mut has_events = false;
    let mut lingers_until: Option<Instant> = None;
    loop {
        let event = match lingers_until {
            None => events.next().await,
            Some(at) => timeout_at(at, events.next()).await.unwrap_or(None),
        };
        let Some(event) = event else { break };
        pending.store(0, Ordering::Relaxed);
        has_events = true;
        let kept_bytes = assembly.kept_bytes();
        match event.map_err(broken).and_then(|event| take::<W>(&mut assembly, &mut half, &event)) {
            Ok(Flow::Goes) => {}
            Ok(Flow::Ends) => break,
            // What comes behind the end cannot spoil it.
            Err(_) if lingers_until.is_some() => break,
            // It was broken off in its last line.
            Err(failure) if is_over.load(Ordering::Relaxed) && failure.kind == FailureKind::Malformed => {
                break;
            }
            Err(failure) => return Err(assembly.counted(failure)),
        }
        if assembly.kept_bytes() > ANSWER_MAX_BYTES {
            return Err(assembly.counted(Broken::TooLong(ANSWER_MAX_BYTES).failure()));
        }
        // Words behind the reason to finish show that it was none yet.
        if assembly.has_ended() && (lingers_until.is_none() || assembly.kept_bytes() > kept_bytes) {
            lingers_until = Some(Instant::now() + LINGER);
        }
        pace.tell(progress, &assembly);
    }
    // A line of a stream begins with a colon or with the name of a field: data, event, id, retry.
    let is_stream = has_events || matches!(first, None | Some(b':' | b'd' | b'e' | b'i' | b'r'));
    if is_stream { assembly.finish() } else { Err(unreadable()) }
}

/// Reads an answer that came as one JSON body. Its last brace is its end marker.
pub(crate) async fn read_whole<W, S, E>(bytes: S, idle: Duration) -> Result<Written, Failure>
where
    W: Wire,
    S: Stream<Item = Result<Bytes, E>> + Send,
{
    whole::<W>(collect(bytes, idle, ANSWER_MAX_BYTES).await?)
}

fn whole<W: Wire>(body: Vec<u8>) -> Result<Written, Failure> {
    let mut assembly = Assembly::default();
    let body = String::from_utf8(body).map_err(|_| unreadable())?;
    let taken = W::take_whole(&mut assembly, &halves::whole(&body, &mut None));
    taken.map_err(|failure| assembly.counted(failure))?;
    assembly.end();
    assembly.finish()
}

/// All bytes of a body.
pub(super) async fn collect<S, E>(bytes: S, idle: Duration, max_bytes: usize) -> Result<Vec<u8>, Failure>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
{
    gathered(limited(bytes, idle, max_bytes)).await
}

async fn gathered(bytes: impl Stream<Item = Result<Bytes, Broken>> + Send) -> Result<Vec<u8>, Failure> {
    let append = |mut body: Vec<u8>, piece: Bytes| async move {
        body.extend_from_slice(&piece);
        Ok(body)
    };
    bytes.try_fold(Vec::new(), append).await.map_err(Broken::failure)
}

fn take<W: Wire>(assembly: &mut Assembly, half: &mut Option<String>, event: &Sse) -> Result<Flow, Failure> {
    let data = event.data.as_deref().unwrap_or_default().trim();
    if event.event.as_deref() == Some("error") {
        let error = serde_json::from_str::<Value>(data).unwrap_or_default();
        return Err(failure::error_frame(failure::error_of(&error)));
    }
    if data.is_empty() { Ok(Flow::Goes) } else { W::take(assembly, &halves::whole(data, half)) }
}

/// What came is not an answer of this wire.
pub(crate) fn unreadable() -> Failure {
    failed(FailureKind::Malformed, "the answer is not what it should be")
}

/// Why the bytes ended before their end.
#[derive(Debug, Clone, Copy, thiserror::Error)]
enum Broken {
    #[error("no byte for {} ms", .0.as_millis())]
    Idle(Duration),
    #[error("more than {0} bytes")]
    TooLong(usize),
    #[error("the connection broke in the middle")]
    Cut,
}

impl Broken {
    fn failure(self) -> Failure {
        match self {
            Self::Idle(limit) => failure::idle(limit),
            Self::TooLong(_) => failed(FailureKind::Malformed, self.to_string()),
            Self::Cut => failed(FailureKind::Cut, self.to_string()),
        }
    }
}

fn broken(error: sse_stream::Error) -> Failure {
    match error {
        sse_stream::Error::Body(source) => {
            source.downcast::<Broken>().map_or_else(|_| unreadable(), |it| it.failure())
        }
        _ => unreadable(),
    }
}

/// The parser knows no limits: these are ours. Nothing of the transport's own words goes on.
fn limited<S, E>(bytes: S, idle: Duration, max_bytes: usize) -> impl Stream<Item = Result<Bytes, Broken>>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
{
    stream::try_unfold((Box::pin(bytes), max_bytes), move |(mut bytes, left)| async move {
        let piece = timeout(idle, bytes.next()).await.map_err(|_| Broken::Idle(idle))?;
        let Some(piece) = piece else { return Ok(None) };
        let piece = piece.map_err(|_| Broken::Cut)?;
        let left = left.checked_sub(piece.len()).ok_or(Broken::TooLong(max_bytes))?;
        Ok(Some((piece, (bytes, left))))
    })
}

/// Tells of words, but not of each.
#[derive(Default)]
struct Pace {
    not_before: Option<Instant>,
    told_bytes: usize,
}

impl Pace {
    fn tell(&mut self, progress: &dyn Progress, assembly: &Assembly) {
        let now = Instant::now();
        if self.not_before.is_some_and(|at| now < at) {
            return;
        }
        let words = assembly.so_far();
        if words.len() > self.told_bytes {
            progress.wrote(words);
            self.told_bytes = words.len();
            self.not_before = Some(now + PROGRESS_EVERY);
        }
    }
}
