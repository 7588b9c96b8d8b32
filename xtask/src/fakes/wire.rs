//! Plain HTTP, both ways. As a server it may do to a connection what no decent one does; as a client it says only what
//! came back.
//!
//! In: connections, and what to make of each request. Out: bytes.

use std::{
    future::Future,
    io::{self, ErrorKind},
    net::SocketAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};

const HEADERS_MAX: usize = 64;
/// A connection unused for longer is not used again: the other side may just be closing it.
const IDLE: Duration = Duration::from_secs(2);

/// A request as it came.
pub(crate) struct Request {
    /// When its first byte was read.
    pub(crate) arrived: Instant,
    /// With its query.
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The body, or null.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// What to do with the connection.
pub(crate) enum Reply {
    /// Answers.
    Answer(u16, String),
    /// Sends these one by one, each after its pause, and then the end of the body if it is to be a good one.
    Stream { pieces: Vec<(Duration, String)>, is_whole: bool, watch: Option<Watch> },
    /// Breaks it.
    Cut,
    /// Says nothing until the other side has gone.
    Hang,
}

/// Is told when all of a stream has been sent, or that the other side went away before that.
pub(crate) type Watch = Box<dyn FnOnce(Ended) + Send>;

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// All of it was sent.
    Sent,
    /// The other side did not wait for it.
    Left,
}

impl Reply {
    pub(crate) fn json(value: &Value) -> Self {
        Self::Answer(200, value.to_string())
    }
}

/// Serves every connection until dropped.
pub(crate) async fn serve<F, R>(listener: TcpListener, handle: F)
where
    F: Fn(Request) -> R + Clone + Send + 'static,
    R: Future<Output = Reply> + Send,
{
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let handle = handle.clone();
        tokio::spawn(async move {
            // It ends when the other side goes, which is nobody's fault.
            let _ = converse(stream, handle).await;
        });
    }
}

async fn converse<F, R>(mut stream: TcpStream, handle: F) -> io::Result<()>
where
    F: Fn(Request) -> R,
    R: Future<Output = Reply>,
{
    stream.set_nodelay(true)?;
    let mut bytes = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut bytes).await? {
        match handle(request).await {
            Reply::Answer(status, body) => {
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
                );
                stream.write_all((head + &body).as_bytes()).await?;
            }
            Reply::Stream { pieces, is_whole, watch } => {
                let sent = send_all(&mut stream, &mut bytes, pieces, is_whole).await;
                if let Some(watch) = watch {
                    watch(if sent.is_ok() { Ended::Sent } else { Ended::Left });
                }
                sent?;
                if !is_whole {
                    return Ok(());
                }
            }
            Reply::Cut => return stream.set_zero_linger(),
            Reply::Hang => {
                let mut ignored = [0; 256];
                while stream.read(&mut ignored).await? > 0 {}
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Sends a stream; what has no pause before it goes out with what was before. Fails when the other side goes away.
async fn send_all(
    stream: &mut TcpStream,
    bytes: &mut Vec<u8>,
    pieces: Vec<(Duration, String)>,
    is_whole: bool,
) -> io::Result<()> {
    let mut ready =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned();
    for (pause, piece) in pieces {
        if !pause.is_zero() {
            stream.write_all(ready.as_bytes()).await?;
            ready.clear();
            stay(stream, bytes, pause).await?;
        }
        ready.push_str(&format!("{:x}\r\n{piece}\r\n", piece.len()));
    }
    if is_whole {
        ready.push_str("0\r\n\r\n");
    }
    stream.write_all(ready.as_bytes()).await
}

/// Lets time pass as long as the other side is there.
async fn stay(stream: &mut TcpStream, bytes: &mut Vec<u8>, pause: Duration) -> io::Result<()> {
    let pause = sleep(pause);
    tokio::pin!(pause);
    loop {
        tokio::select! {
            () = &mut pause => return Ok(()),
            read = stream.read_buf(bytes) => {
                if read? == 0 {
                    return Err(io::Error::from(ErrorKind::UnexpectedEof));
                }
            }
        }
    }
}

/// None at the end of the connection.
async fn read_request(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<Option<Request>> {
    let mut arrived = (!bytes.is_empty()).then(Instant::now);
    loop {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut head = httparse::Request::new(&mut headers);
        if let httparse::Status::Complete(begin) = head.parse(bytes).map_err(strange)? {
            let end = begin + content_length(head.headers)?;
            let path = head.path.unwrap_or_default().to_owned();
            if bytes.len() >= end {
                let body = bytes[begin..end].to_vec();
                bytes.drain(..end);
                return Ok(Some(Request { arrived: arrived.unwrap_or_else(Instant::now), path, body }));
            }
        }
        if stream.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
        arrived.get_or_insert_with(Instant::now);
    }
}

fn content_length(headers: &[httparse::Header<'_>]) -> io::Result<usize> {
    let found = headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let Some(found) = found else { return Ok(0) };
    std::str::from_utf8(found.value)
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .ok_or_else(|| strange("length"))
}

fn strange(what: impl ToString) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_string())
}

/// What was answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// Asks one server. Connections are kept for the next question.
pub(crate) struct Client {
    address: SocketAddr,
    idle: Mutex<Vec<(Instant, TcpStream)>>,
}

impl Client {
    pub(crate) const fn new(address: SocketAddr) -> Self {
        Self { address, idle: Mutex::new(Vec::new()) }
    }

    /// Asks, and waits so long for the whole answer. Not answered, it may have been heard all the same.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
        limit: Duration,
    ) -> io::Result<Answer> {
        let question = question(method, path, headers, body);
        timeout(limit, self.converse(&question)).await.map_err(|_| io::Error::from(ErrorKind::TimedOut))?
    }

    /// Asks for an answer that is streamed, which is read line by line. Chunks must end where lines do.
    pub(crate) async fn ask_for_stream(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> io::Result<Stream> {
        let mut stream = match self.take_idle() {
            Some(stream) => stream,
            None => self.connect().await?,
        };
        stream.write_all(question(method, path, headers, body).as_bytes()).await?;
        Ok(Stream { stream, bytes: Vec::new() })
    }

    /// Keeps a connection whose stream has come to its end.
    pub(crate) fn keep(&self, stream: Stream) {
        self.idle().push((Instant::now(), stream.stream));
    }

    async fn converse(&self, question: &str) -> io::Result<Answer> {
        let mut stream = match self.take_idle() {
            Some(stream) => stream,
            None => self.connect().await?,
        };
        stream.write_all(question.as_bytes()).await?;
        let answer = read_answer(&mut stream).await?;
        self.idle().push((Instant::now(), stream));
        Ok(answer)
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn take_idle(&self) -> Option<TcpStream> {
        let mut idle = self.idle();
        idle.retain(|(since, _)| since.elapsed() < IDLE);
        idle.pop().map(|(_, stream)| stream)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<(Instant, TcpStream)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn question(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut question =
        format!("{method} {path} HTTP/1.1\r\nHost: baton\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        question.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        question.push_str("Content-Type: application/json\r\n");
    }
    question.push_str("\r\n");
    question.push_str(body);
    question
}

/// An answer that comes piece by piece.
pub(crate) struct Stream {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Stream {
    /// How it was answered, once that is known. To be asked first, or not at all.
    pub(crate) async fn status(&mut self) -> io::Result<u16> {
        let line = self.line().await?.ok_or_else(|| io::Error::from(ErrorKind::UnexpectedEof))?;
        line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(|| strange(line))
    }

    /// The next line that begins with `data: `, without that. None at the end of the connection.
    pub(crate) async fn data(&mut self) -> io::Result<Option<String>> {
        while let Some(line) = self.line().await? {
            if let Some(data) = line.strip_prefix("data: ") {
                return Ok(Some(data.to_owned()));
            }
        }
        Ok(None)
    }

    async fn line(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()));
            }
            if self.stream.read_buf(&mut self.bytes).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Reads on to the end of the answer.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        while !self.bytes.ends_with(b"0\r\n\r\n") {
            if self.stream.read_buf(&mut self.bytes).await? == 0 {
                return Err(io::Error::from(ErrorKind::UnexpectedEof));
            }
        }
        Ok(())
    }
}

async fn read_answer(stream: &mut TcpStream) -> io::Result<Answer> {
    let mut bytes = Vec::new();
    loop {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut head = httparse::Response::new(&mut headers);
        if let httparse::Status::Complete(begin) = head.parse(&bytes).map_err(strange)? {
            let end = begin + content_length(head.headers)?;
            if bytes.len() >= end {
                let body = serde_json::from_slice(&bytes[begin..end]).unwrap_or_default();
                return Ok(Answer { status: head.code.unwrap_or_default(), body });
            }
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::Error::from(ErrorKind::UnexpectedEof));
        }
    }
}
