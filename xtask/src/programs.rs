//! The programs of PostgreSQL and Redis: where they are.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::packages::{self, Need, on_path};

/// Where the programs are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Programs {
    /// The folder with `initdb` and `postgres`.
    pub(crate) postgres: PathBuf,
    /// The server of Redis, or one that speaks the same.
    pub(crate) redis: PathBuf,
}

impl Programs {
    /// Finds them; installs what is missing if that is allowed, and says what to install if not.
    pub(crate) fn find_or_install(is_asked_for: bool) -> Result<Self> {
        packages::find_or_install(&[Need::Postgres, Need::Redis], is_asked_for)?;
        let found = postgres_folder().zip(redis_server());
        let (postgres, redis) = found.context("PostgreSQL or Redis is gone again")?;
        Ok(Self { postgres, redis })
    }

    /// What makes a database that sorts as people do, as most do whose name for a language is `en_US`: PostgreSQL 15 can
    /// do that itself, on any machine.
    pub(crate) fn language(&self) -> Result<&'static [&'static str]> {
        let help = Command::new(self.postgres.join("initdb")).arg("--help").output();
        let help = help.context("cannot run initdb")?;
        let knows = String::from_utf8_lossy(&help.stdout).contains("--icu-locale");
        Ok(if knows { &["--locale-provider=icu", "--icu-locale=en-US"] } else { &[] })
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
}

/// The server of Redis, or one that speaks the same.
pub(crate) fn redis_server() -> Option<PathBuf> {
    on_path("redis-server").or_else(|| on_path("valkey-server"))
}

/// The newest that there is: Debian and Homebrew keep each version in a folder of its own, off the PATH.
pub(crate) fn postgres_folder() -> Option<PathBuf> {
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
}
