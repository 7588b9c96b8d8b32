//! A password, asked for: twice and unseen on a terminal, else the first line of stdin. Never an argument, which other
//! users of the machine can read.

use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    thread,
};

use anyhow::{Context as _, bail};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::oneshot;

pub(super) async fn ask() -> anyhow::Result<String> {
    ask_for("New password").await
}

/// Something of that name.
pub(super) async fn ask_for(what: &str) -> anyhow::Result<String> {
    if !io::stdin().is_terminal() {
        return read_line().await;
    }
    let hidden = Hidden::begin()?;
    let password = answer(&format!("{what}: ")).await?;
    let again = answer("Again: ").await?;
    drop(hidden);
    if password != again {
        bail!("the two passwords are not the same");
    }
    Ok(password)
}

/// Something that is known already, on a terminal.
pub(super) async fn ask_once(question: &str) -> anyhow::Result<String> {
    let hidden = Hidden::begin()?;
    let words = answer(question).await?;
    drop(hidden);
    Ok(words)
}

async fn answer(question: &str) -> anyhow::Result<String> {
    let mut out = io::stderr();
    write!(out, "{question}")?;
    out.flush()?;
    let line = tokio::select! {
        line = read_line() => line,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            bail!("interrupted")
        }
    };
    writeln!(out)?;
    line
}

/// On a thread of its own, which nothing waits for when the person typing gives up.
pub(super) async fn read_line() -> anyhow::Result<String> {
    let (tell, told) = oneshot::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line).map(|_| line);
        // Nobody waits for it any more: then it is not needed.
        let _ = tell.send(read);
    });
    let line = told.await.context("nothing could be read")??;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// A terminal that does not show what is typed, until this is dropped.
struct Hidden(Termios);

impl Hidden {
    fn begin() -> anyhow::Result<Self> {
        let before = tcgetattr(io::stdin()).context("the terminal's settings cannot be read")?;
        let mut unseen = before.clone();
        unseen.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &unseen)
            .context("the terminal's settings cannot be changed")?;
        Ok(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Err(error) = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0) {
            eprintln!("the terminal could not be reset ({error}); `stty sane` does it");
        }
    }
}
