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
    sync::Arc,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    packages::on_path,
    processes::children_of,
    programs::Programs,
    user::{User, as_user},
};

/// A server that has not answered by then will not.
const START_LIMIT: Duration = Duration::from_secs(30);
/// A server that has not ended by then is killed.
const STOP_LIMIT: Duration = Duration::from_secs(10);
/// The port is chosen before the server takes it, so that another may have been faster.
const TRIES: usize = 5;

/// A temporary folder, gone when dropped unless it is to be kept.
pub(crate) struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Folder {
    pub(crate) fn make(what: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("baton-{what}-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        // The user under whom PostgreSQL runs must be able to enter it.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(Self { path, is_kept: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves it where it is, for somebody to look into.
    pub(crate) const fn keep(&mut self) {
        self.is_kept = true;
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        if let Err(error) = fs::remove_dir_all(&self.path) {
            eprintln!("cannot remove {}: {error}", self.path.display());
        }
    }
}

/// What makes a server: its program with everything but the port, which is found out by trying.
pub(crate) struct Recipe {
    pub(crate) name: &'static str,
    /// Asks it to end.
    pub(crate) goodbye: Signal,
    pub(crate) log: PathBuf,
    /// Whether it answers on that port.
    pub(crate) answers: fn(u16) -> bool,
    pub(crate) command: Box<dyn Fn(u16) -> Command + Send + Sync>,
}

impl Recipe {
    fn spawn(&self, port: u16) -> Result<Child> {
        let output = fs::File::options().create(true).append(true).open(&self.log)?;
        let mut command = (self.command)(port);
        // A group of its own: Ctrl-C is for the tests, which go on needing their servers until they have ended.
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).process_group(0);
        command.spawn().with_context(|| format!("cannot run {}", command.get_program().display()))
    }
}

/// A process of ours that goes when told so by a signal.
pub(crate) struct Server {
    child: Child,
    port: u16,
    recipe: Arc<Recipe>,
}

impl Server {
    /// Where it listens.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Its process.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Whether it still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Tells it something, if it still runs.
    pub(crate) fn signal(&mut self, signal: Signal) {
        if self.is_running() {
            // It fails only for a process that has just ended, and then there is nobody to tell.
            let _ = kill_process(self.pid(), signal);
        }
    }

    /// Tells it and the processes that it has started, as PostgreSQL does for each connection.
    pub(crate) fn signal_all(&mut self, signal: Signal) {
        if !self.is_running() {
            return;
        }
        // Where children are not told of, a frozen PostgreSQL takes no new connections and goes on with those it has.
        for process in std::iter::once(self.pid()).chain(children_of(self.pid())) {
            let _ = kill_process(process, signal);
        }
    }

    /// Begins it once more, on the port that it had.
    pub(crate) fn begin_again(&mut self) -> Result<()> {
        self.child = self.recipe.spawn(self.port)?;
        Ok(())
    }

    /// What tells whether it answers: to be asked where waiting a second is no harm.
    pub(crate) fn probe(&self) -> impl Fn() -> bool + Send + use<> {
        let (answers, port) = (self.recipe.answers, self.port);
        move || answers(port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let began = Instant::now();
        self.signal_all(Signal::CONT);
        self.signal(self.recipe.goodbye);
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

/// What a PostgreSQL does so that a crash costs nothing that was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    /// Nothing: nobody crashes it.
    Fast,
    /// Everything: it will be killed.
    Durable,
    /// Everything, and otherwise as it comes: it is measured.
    Measured,
}

impl Care {
    const fn settings(self) -> &'static [&'static str] {
        match self {
            Self::Fast => &["fsync=off", "synchronous_commit=off", "full_page_writes=off"],
            // A crash makes it forget how much has changed. Killed more often than once in the usual minute between two
            // looks, it would never come to analyze a table, and would go on reading each from end to end.
            Self::Durable => {
                &["fsync=on", "synchronous_commit=on", "full_page_writes=on", "autovacuum_naptime=2"]
            }
            Self::Measured => &["fsync=on", "synchronous_commit=on", "full_page_writes=on"],
        }
    }
}

/// A private PostgreSQL.
pub(crate) struct Postgres {
    pub(crate) server: Server,
}

impl Postgres {
    pub(crate) fn start(programs: &Programs, folder: &Path, care: Care) -> Result<Self> {
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
            .args(programs.language()?)
            .current_dir("/");
        as_user(&mut initdb, user.as_ref());
        let made = initdb.output().context("cannot run initdb")?;
        if !made.status.success() {
            bail!("initdb failed: {}", String::from_utf8_lossy(&made.stderr).trim());
        }
        let program = programs.postgres.join("postgres");
        let counts_statements = care == Care::Measured && programs.count_statements();
        let command = move |port: u16| {
            let mut command = dying_with_us(&program, "INT");
            if counts_statements {
                command.args(["-c", "shared_preload_libraries=pg_stat_statements"]);
            }
            command.arg("-D").arg(&data).arg("-k").arg(&data).args(["-p", &port.to_string()]);
            command.current_dir("/");
            for setting in ["listen_addresses=127.0.0.1", "max_connections=500"].iter().chain(care.settings())
            {
                command.args(["-c", setting]);
            }
            as_user(&mut command, user.as_ref());
            command
        };
        let recipe = Recipe {
            name: "PostgreSQL",
            goodbye: Signal::INT,
            log: folder.join("postgres.log"),
            answers: postgres_answers,
            command: Box::new(command),
        };
        Ok(Self { server: start_somewhere(recipe)? })
    }

    pub(crate) fn url(&self) -> String {
        url_of_postgres(self.server.port())
    }
}

/// The address of a PostgreSQL of ours, or of what stands in front of it.
pub(crate) fn url_of_postgres(port: u16) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/postgres")
}

/// A Redis that keeps nothing on disk.
pub(crate) struct Redis {
    pub(crate) server: Server,
}

impl Redis {
    pub(crate) fn start(programs: &Programs, folder: &Path) -> Result<Self> {
        let data = folder.join("redis");
        fs::create_dir(&data)?;
        let program = programs.redis.clone();
        let command = move |port: u16| {
            let mut command = dying_with_us(&program, "TERM");
            command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
            command.args(["--save", "", "--appendonly", "no"]).arg("--dir").arg(&data);
            command
        };
        let recipe = Recipe {
            name: "Redis",
            goodbye: Signal::TERM,
            log: folder.join("redis.log"),
            answers: redis_answers,
            command: Box::new(command),
        };
        Ok(Self { server: start_somewhere(recipe)? })
    }

    pub(crate) fn url(&self) -> String {
        url_of_redis(self.server.port())
    }
}

/// The address of a Redis of ours, or of what stands in front of it.
pub(crate) fn url_of_redis(port: u16) -> String {
    format!("redis://127.0.0.1:{port}")
}

/// Starts a server on a free port and waits until it answers; on another port if that one was taken meanwhile.
pub(crate) fn start_somewhere(recipe: Recipe) -> Result<Server> {
    let (what, recipe) = (recipe.name, Arc::new(recipe));
    for _ in 0..TRIES {
        let recipe = Arc::clone(&recipe);
        let port = free_port()?;
        let mut server = Server { child: recipe.spawn(port)?, port, recipe };
        let began = Instant::now();
        while server.is_running() {
            if (server.recipe.answers)(port) {
                return Ok(server);
            }
            if began.elapsed() > START_LIMIT {
                bail!("{} does not answer:\n{}", server.recipe.name, last_words(&server.recipe.log));
            }
            sleep(Duration::from_millis(20));
        }
        let said = last_words(&server.recipe.log);
        if !said.contains("in use") {
            bail!("{} ended at its start:\n{said}", server.recipe.name);
        }
    }
    bail!("{what} found no free port in {TRIES} tries")
}

/// A port that nobody listens on now.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// The end of what a log says.
pub(crate) fn last_words(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

/// Asks and reads the beginning of the answer.
pub(crate) fn ask(port: u16, question: &[u8], answer: &mut [u8]) -> std::io::Result<()> {
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

/// Linux ends it if we are killed before we can, or if the thread ends that started it. Elsewhere it then stays, on the loopback.
pub(crate) fn dying_with_us(program: &Path, signal: &str) -> Command {
    match on_path("setpriv") {
        Some(setpriv) => {
            let mut command = Command::new(setpriv);
            command.args(["--pdeathsig", signal, "--"]).arg(program);
            command
        }
        None => Command::new(program),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_gone_when_dropped() {
        let folder = Folder::make("unit").expect("made");
        let path = folder.path().to_path_buf();
        fs::write(path.join("file"), "x").expect("written");
        drop(folder);
        assert!(!path.exists());
    }
}
