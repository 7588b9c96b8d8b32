//! The line between a ledger and its server, in the hands of a test.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpSocket, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};

use super::store::server;

/// Stands between the ledger and its server, and can be taken away, or fall silent.
pub(super) struct Line {
    pub(super) port: u16,
    /// Keeps the port while nobody listens there.
    kept: TcpSocket,
    task: JoinHandle<()>,
    silences: watch::Sender<usize>,
    losses: watch::Sender<usize>,
}

impl Line {
    pub(super) fn open() -> Self {
        Self::again(bound(0))
    }

    /// On the port that one had before that was cut.
    pub(super) fn again(kept: TcpSocket) -> Self {
        let port = kept.local_addr().expect("bound").port();
        let listener = bound(port).listen(1_024).expect("nobody listens there");
        let options = server();
        let target = (options.get_host().to_owned(), options.get_port());
        let (silences, silence) = watch::channel(0);
        let (losses, loss) = watch::channel(0);
        let is_lost = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(async move {
            let mut calls = JoinSet::new();
            while let Ok((mut here, _)) = listener.accept().await {
                let (target, mut silence, before) = (target.clone(), silence.clone(), *silence.borrow());
                let (mut loss, lost, is_lost) = (loss.clone(), *loss.borrow(), Arc::clone(&is_lost));
                calls.spawn(async move {
                    let mut there = TcpStream::connect(target).await.expect("the server answers");
                    // Ends with either side; which of them, and how, is not the test's concern.
                    let both = copy_bidirectional(&mut here, &mut there);
                    let loses = tokio::select! {
                        _ = both => return,
                        silent = silence.wait_for(|silences| *silences > before) => silent.is_err(),
                        loses = loss.wait_for(|losses| *losses > lost) => loses.is_ok(),
                    };
                    if loses {
                        return until_lost(&mut here, &mut there, &is_lost).await;
                    }
                    // Open, and nothing comes any more, however long one waits.
                    std::future::pending::<()>().await;
                });
            }
        });
        Self { port, kept, task, silences, losses }
    }

    /// The next answer is lost, and its connection with it. Once.
    pub(super) fn loses_an_answer(&self) {
        self.losses.send_modify(|losses| *losses += 1);
    }

    /// Nothing comes over the connections that are open now; new ones work.
    pub(super) fn falls_silent(&self) {
        self.silences.send_modify(|silences| *silences += 1);
    }

    /// From now on nobody listens there, and nobody else can.
    pub(super) async fn cut(self) -> TcpSocket {
        self.task.abort();
        assert!(self.task.await.is_err_and(|error| error.is_cancelled()), "the line is down");
        self.kept
    }
}

/// A socket on that port, which others of ours may have too.
fn bound(port: u16) -> TcpSocket {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_reuseaddr(true).expect("set");
    socket.set_reuseport(true).expect("set");
    socket.bind(([127, 0, 0, 1], port).into()).expect("a free port");
    socket
}

/// Passes on what both say, until one of them asks for a step: the first such answer on any connection is lost. Less is asked
/// to see whether a connection lives.
async fn until_lost(here: &mut TcpStream, there: &mut TcpStream, is_lost: &AtomicBool) {
    const STEP: usize = 500;
    let ((mut asked, mut told), (mut answered, mut asks)) = (here.split(), there.split());
    let (mut question, mut answer) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            Ok(bytes @ 1..) = asked.read(&mut question) => {
                asks.write_all(&question[..bytes]).await.expect("the server is there");
                if bytes > STEP && !is_lost.swap(true, Ordering::SeqCst) {
                    answered.read_exact(&mut answer[..1]).await.expect("it answers");
                    return;
                }
            }
            Ok(bytes @ 1..) = answered.read(&mut answer) => {
                told.write_all(&answer[..bytes]).await.expect("the ledger is there");
            }
            else => return,
        }
    }
}
