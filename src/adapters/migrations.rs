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
            "messages by provider id" = "0021_messages_by_provider_id",
            "lanes" = "0022_lanes",
            "erased usage" = "0023_erased_usage",
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
    use std::{collections::BTreeSet, fs, path::Path};

    /// Those that a program from before them could not have worked with: none of them came after a release.
    const NOT_ONLY_ADDING: [i64; 6] = [2, 6, 9, 15, 17, 18];

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

    /// The statements of a migration, on one line each.
    fn statements(sql: &str) -> Vec<String> {
        let lines = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
        let text = lines.collect::<Vec<_>>().join(" ").to_lowercase();
        let words = |statement: &str| statement.split_whitespace().collect::<Vec<_>>().join(" ");
        text.split(';').map(words).filter(|statement| !statement.is_empty()).collect()
    }

    /// The word after those, up to what cannot be part of a name.
    fn word_after<'s>(statement: &'s str, words: &str) -> Option<&'s str> {
        let rest = &statement[statement.find(words)? + words.len()..];
        rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
    }

    /// Whether a program that knows nothing of it works on: it reads, and writes, without what is new.
    fn only_adds(statement: &str, made_here: &BTreeSet<&str>) -> bool {
        let is_made_here =
            |words: &str| word_after(statement, words).is_some_and(|it| made_here.contains(it));
        if statement.starts_with("create table ") {
            // It does not remove rows of a table that it does not know before those to which they belong.
            return statement.split(" references ").skip(1).all(|reference| {
                made_here.contains(reference.split(' ').next().unwrap_or_default())
                    || reference.split(',').next().is_some_and(|it| it.contains("on delete "))
            });
        }
        if statement.starts_with("create unique index ") {
            return is_made_here(" on ");
        }
        if statement.starts_with("alter table ") {
            let adds = |action: &str| {
                !["check", "unique", "references", "primary key", "constraint", "drop ", "alter ", "rename "]
                    .iter()
                    .any(|word| action.contains(word))
                    && (!action.contains("not null") || action.contains(" default "))
            };
            let mut actions = statement.split("add column ");
            let is_more_than_that = actions.next().is_none_or(|table| table.split(' ').count() > 4);
            return is_made_here("alter table ") || (!is_more_than_that && actions.all(adds));
        }
        ["create index ", "create domain ", "insert into ", "update "]
            .iter()
            .any(|it| statement.starts_with(it))
    }

    /// An index of that name is there again, over other columns: it is one by which rows are found, and not one that keeps
    /// two of them apart.
    fn is_replaced(statement: &str, all: &[String]) -> bool {
        let name = word_after(statement, "drop index ");
        name.is_some_and(|name| all.iter().any(|it| it.starts_with(&format!("create index {name} on "))))
    }

    #[test]
    fn a_migration_leaves_the_version_before_it_all_that_it_works_with() {
        for (database, migrator) in [("postgres", migrations!("postgres")), ("sqlite", migrations!("sqlite"))]
        {
            for migration in migrator.iter().skip(1) {
                let statements = statements(migration.sql.as_str());
                let made_here = statements.iter().filter_map(|it| word_after(it, "create table ")).collect();
                let is_left = |it: &&String| only_adds(it, &made_here) || is_replaced(it, &statements);
                let more: Vec<&String> = statements.iter().filter(|it| !is_left(it)).collect();
                let version = migration.version;
                assert!(
                    more.is_empty() || NOT_ONLY_ADDING.contains(&version),
                    "{database} {version}: {more:#?}"
                );
            }
        }
        for (breaks, statement) in [
            (false, "alter table messages add column seen_at bigint"),
            (false, "alter table messages add column looks bigint not null default 0"),
            (
                false,
                "create table looks (message text not null references messages (id) on delete cascade, at bigint)",
            ),
            (false, "create index messages_seen on messages (seen_at)"),
            (true, "alter table messages add column looks bigint not null"),
            (true, "alter table messages add column looks bigint check (looks > 0)"),
            (true, "alter table messages drop column text"),
            (true, "alter table messages add column looks bigint, drop column text"),
            (true, "alter table messages rename column text to words"),
            (true, "alter table messages rename to letters"),
            (true, "alter table messages alter column text type bytea"),
            (true, "create table looks (message text not null references messages (id), at bigint)"),
            (true, "create unique index messages_text on messages (text)"),
            (true, "create trigger t after insert on messages execute function f()"),
            (true, "drop table drafts"),
            (true, "drop index messages_key"),
        ] {
            assert_eq!(only_adds(statement, &BTreeSet::new()), !breaks, "{statement}");
        }
    }
}
