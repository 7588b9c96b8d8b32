//! The first line of a backup and its last.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The layout of the file.
pub(super) const FORMAT: u32 = 1;

/// What a file of ours begins with.
const KIND: &str = "backup";

/// The first line: of what this is a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// What kind of file this is.
    baton: String,
    /// How it is laid out.
    pub(crate) format: u32,
    /// The program that wrote it.
    pub(crate) version: String,
    /// How many migrations its tables have seen.
    pub(crate) schema: i64,
    /// When it was begun, in milliseconds, by the clock of the database: nothing of it is later.
    pub(crate) made_at: i64,
    /// Which database.
    pub(crate) store: String,
    /// Whose it is. A database that loads it gets a name of its own.
    pub(crate) installation: String,
    /// The keys of what is encrypted, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) keys: Option<LockedKeys>,
}

/// Keys, locked by a passphrase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LockedKeys {
    /// How the passphrase becomes a key.
    pub(crate) by: String,
    /// What it is mixed with, hexadecimal.
    pub(crate) salt: String,
    /// The keys, hexadecimal.
    pub(crate) sealed: String,
}

impl Head {
    /// Of this program.
    pub(crate) fn new(
        schema: i64,
        made_at: i64,
        store: &str,
        installation: String,
        keys: Option<LockedKeys>,
    ) -> Self {
        Self {
            baton: KIND.to_owned(),
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            schema,
            made_at,
            store: store.to_owned(),
            installation,
            keys,
        }
    }

    /// Whether that line begins a file of ours, of whatever layout.
    pub(super) fn begins(line: &[u8]) -> Option<(u32, String)> {
        #[derive(Deserialize)]
        struct Any {
            baton: String,
            format: u32,
            version: String,
        }
        let any: Any = serde_json::from_slice(line).ok()?;
        (any.baton == KIND).then_some((any.format, any.version))
    }
}

/// What opens the rows of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Opening {
    /// The table.
    pub(super) table: String,
    /// What its rows hold.
    pub(super) columns: Vec<String>,
}

/// The last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trailer {
    /// How many rows of each table.
    pub(crate) rows: BTreeMap<String, u64>,
    /// Of every byte before this line.
    pub(crate) sha256: String,
}
