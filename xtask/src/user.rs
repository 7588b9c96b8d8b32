//! As whom the servers run.
//!
//! In: who we are. Out: the user for PostgreSQL, if it cannot be we ourselves.

use std::{fs, os::unix::process::CommandExt as _, process::Command};

use anyhow::{Context as _, Result};

use crate::packages::is_root;

/// A user of this machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl User {
    /// As whom PostgreSQL is run: it refuses to be root. None: as ourselves.
    pub(crate) fn for_postgres() -> Result<Option<Self>> {
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

/// Has a command run as that user.
pub(crate) fn as_user(command: &mut Command, user: Option<&User>) {
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
}
