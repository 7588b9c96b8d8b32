//! Programs of others that come in packages: whether they are there, and how to get them.

use std::{path::PathBuf, process::Command};

use anyhow::{Context as _, Result, bail};

use crate::programs;

/// What a chore cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// `initdb` and `postgres`.
    Postgres,
    /// `redis-server`, or one that speaks the same.
    Redis,
    /// Chromium, and the driver through which a test moves it.
    Browser,
    /// Node and npm: the dashboard's types and rules are asked with them. Running it takes neither.
    Node,
    /// Python, and what makes environments of it: the schemas of deployment files come as its packages.
    Python,
    /// `promtool`, which comes with Prometheus and judges alerts.
    Prometheus,
}

/// What installs packages here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Installer {
    /// Debian and its kin.
    Apt,
    /// Homebrew.
    Brew,
    /// Nothing that we know.
    Unknown,
}

impl Need {
    fn is_met(self) -> bool {
        match self {
            Self::Postgres => programs::postgres_folder().is_some(),
            Self::Redis => programs::redis_server().is_some(),
            // The driver finds its browser, and says so if there is none.
            Self::Browser => on_path("chromedriver").is_some(),
            Self::Node => on_path("node").is_some() && on_path("npm").is_some(),
            Self::Python => makes_environments(),
            Self::Prometheus => on_path("promtool").is_some(),
        }
    }

    const fn packages(self, installer: Installer) -> &'static str {
        match (installer, self) {
            (Installer::Apt, Self::Postgres) => "postgresql",
            (Installer::Apt, Self::Redis) => "redis-server",
            (Installer::Apt, Self::Browser) => "chromium chromium-driver",
            (Installer::Apt, Self::Node) => "nodejs npm",
            (Installer::Apt, Self::Python) => "python3 python3-venv",
            (Installer::Apt | Installer::Brew, Self::Prometheus) => "prometheus",
            (Installer::Brew, Self::Postgres) => "postgresql@16",
            (Installer::Brew, Self::Redis) => "redis",
            (Installer::Brew, Self::Browser) => "chromium chromedriver",
            (Installer::Brew, Self::Node) => "node",
            (Installer::Brew, Self::Python) => "python",
            (Installer::Unknown, Self::Postgres) => "initdb and postgres (14 or later)",
            (Installer::Unknown, Self::Redis) => "redis-server (6.2 or later)",
            (Installer::Unknown, Self::Browser) => "chromedriver, with a Chromium or Chrome of its version",
            (Installer::Unknown, Self::Node) => "node (18 or later) and npm",
            (Installer::Unknown, Self::Python) => "python3 (3.10 or later) with venv and pip",
            (Installer::Unknown, Self::Prometheus) => "promtool (2.42 or later)",
        }
    }
}

/// Finds what is needed; installs what is missing if that is allowed, and says what to install if not.
pub(crate) fn find_or_install(needs: &[Need], is_asked_for: bool) -> Result<()> {
    let missing = missing(needs);
    if missing.is_empty() {
        return Ok(());
    }
    let installer = Installer::here();
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    if !(is_asked_for || is_ci || is_root()) || installer == Installer::Unknown {
        bail!("{}", installer.what_to_do(&missing));
    }
    installer.install(&missing)?;
    let missing = self::missing(needs);
    if missing.is_empty() {
        return Ok(());
    }
    bail!("installed, and still not found. {}", installer.what_to_do(&missing))
}

fn missing(needs: &[Need]) -> Vec<Need> {
    needs.iter().copied().filter(|need| !need.is_met()).collect()
}

impl Installer {
    fn here() -> Self {
        if on_path("apt-get").is_some() {
            Self::Apt
        } else if on_path("brew").is_some() {
            Self::Brew
        } else {
            Self::Unknown
        }
    }

    fn packages(self, needs: &[Need]) -> String {
        let between = if self == Self::Unknown { ", " } else { " " };
        needs.iter().map(|need| need.packages(self)).collect::<Vec<_>>().join(between)
    }

    fn install(self, needs: &[Need]) -> Result<()> {
        let packages = self.packages(needs);
        let commands = match self {
            Self::Apt => {
                let install = format!("apt-get install -y --no-install-recommends {packages}");
                vec!["apt-get update".to_owned(), install]
            }
            Self::Brew => vec![format!("brew install {packages}")],
            Self::Unknown => Vec::new(),
        };
        let is_helped = self == Self::Apt && !is_root();
        for line in commands {
            let line = if is_helped { format!("sudo --non-interactive {line}") } else { line };
            eprintln!("{line}");
            let words: Vec<&str> = line.split(' ').collect();
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).env("DEBIAN_FRONTEND", "noninteractive");
            let status = command.status().with_context(|| format!("cannot run {}", words[0]))?;
            if !status.success() {
                bail!("`{line}` failed. {}", self.what_to_do(needs));
            }
        }
        Ok(())
    }

    fn what_to_do(self, needs: &[Need]) -> String {
        let packages = self.packages(needs);
        let ours = "or let this do it: cargo xtask test --install";
        let how = match self {
            Self::Apt => format!("sudo apt-get install {packages}\n{ours}"),
            Self::Brew => format!("brew install {packages}\n{ours}"),
            Self::Unknown => format!("on the PATH must be {packages}"),
        };
        let servers = needs.iter().any(|need| matches!(need, Need::Postgres | Need::Redis));
        let or =
            "\nServers that run already do as well, for most tests: set TEST_DATABASE_URL and TEST_REDIS_URL";
        format!("the tests need programs that are missing:\n{how}{}", if servers { or } else { "" })
    }
}

/// Debian parts Python from what makes environments of it, and then says so only when asked for one.
fn makes_environments() -> bool {
    let asked = Command::new("python3").args(["-c", "import ensurepip, venv"]).output();
    asked.is_ok_and(|output| output.status.success())
}

/// Whether we may do everything here. PostgreSQL may not be run so.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Where a program is that needs no path.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    // Not everyone's PATH holds the folder where Debian keeps programs of the system.
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")]);
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_not_install_is_told_what_to_install() {
        let needs = [Need::Postgres, Need::Browser];
        let told = Installer::Apt.what_to_do(&needs);
        assert!(told.contains("sudo apt-get install postgresql chromium chromium-driver\n"), "{told}");
        assert!(told.contains("TEST_DATABASE_URL"), "{told}");
        assert!(
            Installer::Brew.what_to_do(&needs).contains("brew install postgresql@16 chromium chromedriver\n")
        );
        let told = Installer::Unknown.what_to_do(&[Need::Redis, Need::Node]);
        assert!(
            told.contains("on the PATH must be redis-server (6.2 or later), node (18 or later)"),
            "{told}"
        );
        assert!(!Installer::Apt.what_to_do(&[Need::Browser]).contains("TEST_"));
    }
}
