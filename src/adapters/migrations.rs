//! The migrations, listed once for both databases, which have files of the same names.
//!
//! In: the name of a database. Out: what brings one of it to a newer shape.

use sqlx::{
    SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
};

/// All of a database, in order, numbered by it. One that was released is never changed, and a new one is added at the end.
macro_rules! migrations {
    ($database:literal) => {
        $crate::adapters::migrations::migrations! { $database:
            "spine" = "0001_spine",
            "unclear attempts" = "0002_unclear_attempts",
            "generation starts" = "0003_generation_starts",
            "cached answers" = "0004_cached_answers",
            "stamps" = "0005_stamps",
            "words" = "0006_words",
            "people" = "0007_people",
            "labels and canned replies" = "0008_labels_and_canned_replies",
            "drafts" = "0009_drafts",
            "kept answers" = "0010_kept_answers",
            "enclosures" = "0011_enclosures",
            "erasures" = "0012_erasures",
            "retention" = "0013_retention",
            "audit" = "0014_audit",
            "endpoints" = "0015_endpoints",
            "brakes" = "0016_brakes",
            "idempotency keys" = "0017_idempotency_keys",
            "bytes" = "0018_bytes",
            "ended follow-ups" = "0019_ended_follow_ups",
            "moved" = "0020_moved",
        }
    };
    ($database:literal: $($name:literal = $file:literal,)+) => {
        $crate::adapters::migrations::migrator([$((
            $name,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/", $database, "/", $file, ".sql")),
        ),)+])
    };
}

pub(crate) use migrations;

/// Migrations by their names and texts, numbered in this order.
pub(crate) fn migrator<const N: usize>(files: [(&'static str, &'static str); N]) -> Migrator {
    let migration = |(version, (name, sql)): (i64, (&'static str, &'static str))| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    let mut migrator = Migrator::with_migrations((1..).zip(files).map(migration).collect());
    // A newer version may have migrated while this one still serves, or is started once more: migrations only add.
    migrator.set_ignore_missing(true);
    migrator
}

/// The number of the last.
pub(crate) fn newest(migrations: &Migrator) -> i64 {
    migrations.iter().map(|migration| migration.version).max().unwrap_or(0)
}

/// Those up to that number.
pub(crate) fn up_to(schema: i64, migrations: &Migrator) -> Migrator {
    Migrator::with_migrations(migrations.iter().filter(|it| it.version <= schema).cloned().collect())
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    /// A migration is known by its number for good: each file's is its place in the list, so one can only be added at the end.
    #[test]
    fn each_file_has_the_number_under_which_it_is_listed() {
        for (database, migrator) in [("postgres", migrations!("postgres")), ("sqlite", migrations!("sqlite"))]
        {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(database);
            let entries = fs::read_dir(&folder).expect("the migrations are there");
            let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
            files.sort();
            assert_eq!(files.len(), migrator.iter().count(), "{files:?}");
            for (file, migration) in files.iter().zip(migrator.iter()) {
                let name = file.file_name().and_then(|name| name.to_str()).expect("a name");
                let number = name.split('_').next().and_then(|digits| digits.parse().ok());
                assert_eq!(number, Some(migration.version), "{name}");
                let text = fs::read_to_string(file).expect("it can be read");
                assert_eq!(text, migration.sql.as_str(), "{name}");
            }
        }
    }
}
