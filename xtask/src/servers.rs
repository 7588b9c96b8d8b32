//! Private servers: on free ports of the loopback, with their data in a temporary folder, gone when dropped.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::programs::{Programs, is_root, on_path};

/// A server that has not answered by then will not.
const START_LIMIT: Duration = Duration::from_secs(30);
/// A server that has not ended by then is killed.
const STOP_LIMIT: Duration = Duration::from_secs(10);
/// The port is chosen before the server takes it, so that another may have been faster.
const TRIES: usize = 5;

/// A temporary folder.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn make() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("baton-test-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        // The user under whom PostgreSQL runs must be able to enter it.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("cannot remove {}: {error}", self.0.display());
        }
    }
}

/// A process of ours that goes when told so by a signal.
struct Server {
    child: Child,
    goodbye: Signal,
}

impl Drop for Server {
    fn drop(&mut self) {
        let began = Instant::now();
        // It fails only for a process that has ended, and then the wait below ends at once.
        let _ = kill_process(Pid::from_child(&self.child), self.goodbye);
        while matches!(self.child.try_wait(), Ok(None)) {
            if began.elapsed() > STOP_LIMIT {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            sleep(Duration::from_millis(20));
        }
    }
}

/// A PostgreSQL without any care for power cuts: fast.
pub(crate) struct Postgres {
    _server: Server,
    port: u16,
}

impl Postgres {
    pub(crate) fn start(programs: &Programs, folder: &Path) -> Result<Self> {
        let user = User::for_postgres()?;
        let data = folder.join("postgres");
        fs::create_dir(&data)?;
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700))?;
        if let Some(user) = &user {
            chown(&data, Some(user.uid), Some(user.gid))?;
        }
        let mut initdb = Command::new(programs.postgres.join("initdb"));
        initdb
            .arg("-D")
            .arg(&data)
            .args("-U postgres -A trust -N --no-locale -E UTF8".split(' '))
            .current_dir("/");
        as_user(&mut initdb, user.as_ref());
        let made = initdb.output().context("cannot run initdb")?;
        if !made.status.success() {
            bail!("initdb failed: {}", String::from_utf8_lossy(&made.stderr).trim());
        }
        let log = folder.join("postgres.log");
        start_somewhere("PostgreSQL", Signal::INT, &log, postgres_answers, |port| {
            let mut command = dying_with_us(&programs.postgres.join("postgres"), "INT");
            command
                .arg("-D")
                .arg(&data)
                .arg("-k")
                .arg(&data)
                .args(["-p", &port.to_string(), "-F"])
                .current_dir("/");
            for setting in [
                "listen_addresses=127.0.0.1",
                "synchronous_commit=off",
                "full_page_writes=off",
                "max_connections=500",
            ] {
                command.args(["-c", setting]);
            }
            as_user(&mut command, user.as_ref());
            command
        })
        .map(|(server, port)| Self { _server: server, port })
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }
}

/// A Redis that keeps nothing on disk.
pub(crate) struct Redis {
    _server: Server,
    port: u16,
}

impl Redis {
    pub(crate) fn start(programs: &Programs, folder: &Path) -> Result<Self> {
        let data = folder.join("redis");
        fs::create_dir(&data)?;
        let log = folder.join("redis.log");
        start_somewhere("Redis", Signal::TERM, &log, redis_answers, |port| {
            let mut command = dying_with_us(&programs.redis, "TERM");
            command.args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
            ]);
            command.arg("--dir").arg(&data);
            command
        })
        .map(|(server, port)| Self { _server: server, port })
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

/// Starts a server on a free port and waits until it answers; on another port if that one was taken meanwhile.
fn start_somewhere(
    name: &str,
    goodbye: Signal,
    log: &Path,
    answers: fn(u16) -> bool,
    command: impl Fn(u16) -> Command,
) -> Result<(Server, u16)> {
    for _ in 0..TRIES {
        let port = free_port()?;
        let output = fs::File::create(log)?;
        let mut command = command(port);
        // A group of its own: Ctrl-C is for the tests, which go on needing their servers until they have ended.
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).process_group(0);
        let child =
            command.spawn().with_context(|| format!("cannot run {}", command.get_program().display()))?;
        let mut server = Server { child, goodbye };
        let began = Instant::now();
        loop {
            if server.child.try_wait()?.is_some() {
                break;
            }
            if answers(port) {
                return Ok((server, port));
            }
            if began.elapsed() > START_LIMIT {
                bail!("{name} does not answer:\n{}", last_words(log));
            }
            sleep(Duration::from_millis(20));
        }
        let said = last_words(log);
        if !said.contains("in use") {
            bail!("{name} ended at its start:\n{said}");
        }
    }
    bail!("{name} found no free port in {TRIES} tries")
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn last_words(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

/// Asks and reads the beginning of the answer.
fn ask(port: u16, question: &[u8], answer: &mut [u8]) -> std::io::Result<()> {
    let mut connection = TcpStream::connect(("127.0.0.1", port))?;
    connection.set_read_timeout(Some(Duration::from_secs(1)))?;
    connection.write_all(question)?;
    connection.read_exact(answer)
}

/// A start-up message of protocol 3.0 from user `postgres`. Ready, it answers `R` (authentication), else `E` (an error).
fn postgres_answers(port: u16) -> bool {
    let mut answer = [0];
    let hello = b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0";
    ask(port, hello, &mut answer).is_ok() && answer == *b"R"
}

fn redis_answers(port: u16) -> bool {
    let mut answer = [0; 5];
    ask(port, b"PING\r\n", &mut answer).is_ok() && answer == *b"+PONG"
}

/// Linux ends it if we are killed before we can. Elsewhere it then stays, on the loopback.
fn dying_with_us(program: &Path, signal: &str) -> Command {
    match on_path("setpriv") {
        Some(setpriv) => {
            let mut command = Command::new(setpriv);
            command.args(["--pdeathsig", signal, "--"]).arg(program);
            command
        }
        None => Command::new(program),
    }
}

/// A user of this machine.
#[derive(Debug, PartialEq, Eq)]
struct User {
    uid: u32,
    gid: u32,
}

impl User {
    /// As whom PostgreSQL is run: it refuses to be root. None: as ourselves.
    fn for_postgres() -> Result<Option<Self>> {
        if !is_root() {
            return Ok(None);
        }
        let passwd = fs::read_to_string("/etc/passwd").context("cannot read /etc/passwd")?;
        let user = Self::of(&passwd, "postgres").or_else(|| Self::of(&passwd, "nobody"));
        user.map(Some).context("PostgreSQL does not run as root, and there is no user postgres or nobody")
    }

    fn of(passwd: &str, name: &str) -> Option<Self> {
        let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some(Self { uid: fields.next()?.parse().ok()?, gid: fields.next()?.parse().ok()? })
    }
}

fn as_user(command: &mut Command, user: Option<&User>) {
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let passwd = "root:x:0:0::/root:/bin/sh\npostgresql:x:1:1::/:/bin/sh\npostgres:x:104:109:,,,:/var/lib:/bin/sh\n";
        assert_eq!(User::of(passwd, "postgres"), Some(User { uid: 104, gid: 109 }));
        assert_eq!(User::of(passwd, "nobody"), None);
    }

    #[test]
    fn a_folder_is_gone_when_dropped() {
        let folder = Folder::make().expect("made");
        let path = folder.path().to_path_buf();
        fs::write(path.join("file"), "x").expect("written");
        drop(folder);
        assert!(!path.exists());
    }
}
