//! A Redis server of the test's own: on a free port, in a temporary folder, gone with the test.

use std::{
    io::{ErrorKind, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

const START_LIMIT: Duration = Duration::from_secs(20);

pub(crate) struct PrivateRedis {
    port: u16,
    folder: TempDir,
    more: Vec<String>,
    process: Option<Child>,
}

impl PrivateRedis {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts with more arguments.
    pub(crate) fn start_with(more: &[&str]) -> Self {
        // Between finding a free port and taking it, somebody else may: then another one.
        for _ in 0..5 {
            let port = free_port();
            let folder = tempfile::tempdir().expect("there is a temporary folder");
            let more = more.iter().map(ToString::to_string).collect();
            let mut server = Self { port, folder, more, process: None };
            if server.run() {
                return server;
            }
        }
        panic!("redis-server does not start; its log is above");
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// As a power cut would.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("the server can be killed");
            process.wait().expect("the server was ours");
        }
    }

    /// On the same port, with nothing in memory.
    pub(crate) fn restart(&mut self) {
        self.kill();
        assert!(self.run(), "redis-server does not start again");
    }

    /// Connections stay open, and nothing answers.
    pub(crate) fn hang(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn go_on(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let pid = self.process.as_ref().expect("the server runs").id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().expect("there is a kill command");
        assert!(sent.success());
    }

    fn run(&mut self) -> bool {
        let spawned = Command::new("redis-server")
            .args([
                "--port",
                &self.port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
            ])
            .arg("--dir")
            .arg(self.folder.path())
            .args(&self.more)
            .stdout(Stdio::piped())
            .spawn();
        let mut process = match spawned {
            Ok(process) => process,
            Err(error) if error.kind() == ErrorKind::NotFound => panic!(
                "redis-server is not installed. Install it (apt-get install redis-server, brew install redis), \
                 or set TEST_REDIS_URL to a server that this test may write to."
            ),
            Err(error) => panic!("redis-server cannot be run: {error}"),
        };
        let begun = Instant::now();
        while !answers(self.port) {
            let ended = process.try_wait().expect("the server is ours").is_some();
            if ended || begun.elapsed() > START_LIMIT {
                let _ = process.kill();
                let output = process.wait_with_output().expect("the server was ours");
                eprintln!("{}", String::from_utf8_lossy(&output.stdout));
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.process = Some(process);
        true
    }
}

impl Drop for PrivateRedis {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a free port");
    listener.local_addr().expect("it is bound").port()
}

fn answers(port: u16) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        std::io::Result::Ok(&answer == b"+PONG")
    };
    ask().unwrap_or(false)
}
