//! The clients that Green API itself gives away for Python, from its package index, as they are.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command},
};

use serde_json::json;

use super::{
    Stand,
    stand::{INSTANCE, QUICK, TOKEN},
};

const NEEDED: &str = "this test needs Python 3.10 or later with venv and pip, and its package index: apt-get install python3 \
                      python3-venv (or: cargo xtask test --install)";

const CHAT: &str = "6580000001@c.us";

/// What they are, to the version.
const REQUIREMENTS: &str = include_str!("requirements.txt");

/// An environment with both in the target folder, made anew when other versions are wanted.
fn python() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("green-api-clients");
    let (python, stamp) = (folder.join("bin/python"), folder.join("requirements.txt"));
    if std::fs::read_to_string(&stamp).is_ok_and(|held| held == REQUIREMENTS) {
        return python;
    }
    done(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder));
    let wanted = folder.join("wanted.txt");
    std::fs::write(&wanted, REQUIREMENTS).expect("written");
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    done(install.arg(&wanted));
    std::fs::rename(wanted, stamp).expect("in its place");
    python
}

fn done(command: &mut Command) {
    let output = command.output().expect(NEEDED);
    assert!(output.status.success(), "{NEEDED}\n{}", String::from_utf8_lossy(&output.stderr));
}

fn script(python: &Path, name: &str, stand: &Stand) -> Command {
    let mut command = Command::new(python);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/simulator").join(name));
    command.args([&stand.url, &INSTANCE.to_string(), TOKEN, CHAT]);
    command
}

/// A program that goes on, until the end of the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One after the other, in one environment.
#[tokio::test]
async fn green_apis_own_python_clients_talk_to_it() {
    let python = tokio::task::spawn_blocking(python).await.expect("an environment");
    let stand = Stand::new(QUICK);
    let mut client = script(&python, "client.py", &stand);
    let output =
        tokio::task::spawn_blocking(move || client.output().expect("it runs")).await.expect("it ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    stand.plays("contact", json!({ "chatId": CHAT, "text": "Echo <this> \u{1f44d}" })).await;
    let _bot = Running(script(&python, "chatbot.py", &stand).spawn().expect("it starts"));
    stand
        .until("the echo", |account| {
            let is_echo = |message: &serde_json::Value| {
                message["from"] == "api" && message["text"] == "Echo <this> \u{1f44d}"
            };
            account.written(Some(CHAT)).iter().find(|message| is_echo(message)).map(|_| ())
        })
        .await;
    stand.end().await;
}
