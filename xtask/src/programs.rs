//! The programs of PostgreSQL and Redis: where they are, and how to get them.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

/// Where the programs are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Programs {
    /// The folder with `initdb` and `postgres`.
    pub(crate) postgres: PathBuf,
    /// The server of Redis, or one that speaks the same.
    pub(crate) redis: PathBuf,
}

/// What installs packages here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packages {
    /// Debian and its kin.
    Apt,
    /// Homebrew.
    Brew,
    /// Nothing that we know.
    Unknown,
}

impl Programs {
    /// Finds them; installs what is missing if that is allowed, and says what to install if not.
    pub(crate) fn find_or_install(is_asked_for: bool) -> Result<Self> {
        if let Some(programs) = Self::find() {
            return Ok(programs);
        }
        let packages = Packages::here();
        let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        if !(is_asked_for || is_ci || is_root()) || packages == Packages::Unknown {
            bail!("{}", packages.what_to_do());
        }
        packages.install()?;
        Self::find().with_context(|| format!("installed, and still not found. {}", packages.what_to_do()))
    }

    /// Whether PostgreSQL comes with what counts statements, an extension.
    pub(crate) fn count_statements(&self) -> bool {
        [
            "../lib/pg_stat_statements.so",
            "../lib/postgresql/pg_stat_statements.so",
            "../lib/postgresql/pg_stat_statements.dylib",
        ]
        .iter()
        .any(|file| self.postgres.join(file).is_file())
    }

    fn find() -> Option<Self> {
        let redis = on_path("redis-server").or_else(|| on_path("valkey-server"))?;
        Some(Self { postgres: postgres_folder()?, redis })
    }
}

impl Packages {
    fn here() -> Self {
        if on_path("apt-get").is_some() {
            Self::Apt
        } else if on_path("brew").is_some() {
            Self::Brew
        } else {
            Self::Unknown
        }
    }

    fn commands(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Apt => {
                &[&["apt-get", "update"], &["apt-get", "install", "-y", "postgresql", "redis-server"]]
            }
            Self::Brew => &[&["brew", "install", "postgresql@16", "redis"]],
            Self::Unknown => &[],
        }
    }

    fn install(self) -> Result<()> {
        for words in self.commands() {
            let is_helped = self == Self::Apt && !is_root();
            let sudo: &[&str] = if is_helped { &["sudo", "--non-interactive"] } else { &[] };
            let line: Vec<&str> = sudo.iter().chain(*words).copied().collect();
            eprintln!("{}", line.join(" "));
            let mut command = Command::new(line[0]);
            command.args(&line[1..]).env("DEBIAN_FRONTEND", "noninteractive");
            let status = command.status().with_context(|| format!("cannot run {}", line[0]))?;
            if !status.success() {
                bail!("`{}` failed. {}", line.join(" "), self.what_to_do());
            }
        }
        Ok(())
    }

    fn what_to_do(self) -> String {
        let how = match self {
            Self::Apt => {
                "sudo apt-get install postgresql redis-server\nor let this do it: cargo xtask test --install"
            }
            Self::Brew => "brew install postgresql@16 redis\nor let this do it: cargo xtask test --install",
            Self::Unknown => {
                "initdb and postgres (14 or later) and redis-server (6.2 or later) must be on the PATH"
            }
        };
        format!(
            "the tests need the programs of PostgreSQL and Redis:\n{how}\nServers that run already do as well, for most \
             tests: set TEST_DATABASE_URL and TEST_REDIS_URL"
        )
    }
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

/// The newest that there is: Debian and Homebrew keep each version in a folder of its own, off the PATH.
fn postgres_folder() -> Option<PathBuf> {
    let versions = |parent: &str, begins: &str| -> Vec<(u32, PathBuf)> {
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        entries.filter_map(|entry| Some((version(&entry.file_name(), begins)?, entry.path()))).collect()
    };
    let mut found = versions("/usr/lib/postgresql", "");
    for parent in ["/opt/homebrew/opt", "/usr/local/opt", "/home/linuxbrew/.linuxbrew/opt"] {
        found.extend(versions(parent, "postgresql@"));
    }
    found.sort_unstable();
    let newest = found.into_iter().map(|(_, folder)| folder.join("bin")).rfind(|folder| is_whole(folder));
    newest.or_else(|| {
        let initdb = on_path("initdb")?;
        initdb.parent().map(Path::to_path_buf).filter(|folder| is_whole(folder))
    })
}

fn is_whole(folder: &Path) -> bool {
    ["initdb", "postgres"].iter().all(|name| folder.join(name).is_file())
}

fn version(name: &OsStr, begins: &str) -> Option<u32> {
    name.to_str()?.strip_prefix(begins)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(version(OsStr::new("postgresql@9"), "postgresql@"), Some(9));
        assert!(version(OsStr::new("16"), "") > version(OsStr::new("9"), ""));
        assert_eq!(version(OsStr::new("postgresql"), "postgresql@"), None);
    }

    #[test]
    fn who_may_not_install_is_told_what_to_install() {
        assert!(Packages::Apt.what_to_do().contains("sudo apt-get install postgresql redis-server"));
        assert!(Packages::Brew.what_to_do().contains("brew install postgresql@16 redis"));
        assert!(Packages::Unknown.what_to_do().contains("on the PATH"));
    }
}
