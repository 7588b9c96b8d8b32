//! What PostgreSQL is asked: to do something, and what it has done.
//!
//! In: statements. Out: what it says, and what it counted while a load was on.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::stand::{Database, Stand};

const SYNCS: &str = "select wal_sync from pg_stat_wal";
/// How often it is asked whether connections have closed; each asking takes a while.
const CLOSED_TRIES: usize = 100;

/// What PostgreSQL has counted, of one database and, for the syncs, of all.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    pub(super) statements: Option<f64>,
    pub(super) syncs: Option<f64>,
}

impl Counted {
    /// What was counted between then and now.
    pub(super) fn since(self, before: Self) -> Self {
        let less = |now: Option<f64>, before: Option<f64>| Some(now? - before?);
        Self { statements: less(self.statements, before.statements), syncs: less(self.syncs, before.syncs) }
    }
}

impl Stand {
    /// Asks PostgreSQL, and returns what it says, a line a row.
    pub(super) fn sql(&self, database: &str, statements: &str) -> Result<String> {
        let Some(postgres) = &self.postgres else { bail!("there is no PostgreSQL") };
        let mut psql = Command::new(self.programs.postgres.join("psql"));
        psql.args("-XqAt -v ON_ERROR_STOP=1 -h 127.0.0.1 -U postgres".split(' '));
        psql.args(["-p", &postgres.server.port().to_string(), "-d", database, "-c", statements]);
        let said = psql.output().context("cannot run psql")?;
        if !said.status.success() {
            bail!("PostgreSQL refused {statements:?}: {}", String::from_utf8_lossy(&said.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
    }

    /// What PostgreSQL has counted so far.
    pub(super) fn counted(&self, database: &str) -> Counted {
        let number = |database: &str, query: &str| self.sql(database, query).ok()?.parse().ok();
        let calls = format!(
            "select coalesce(sum(s.calls), 0) from pg_stat_statements s join pg_database d on d.oid = s.dbid
             where d.datname = '{database}'"
        );
        Counted { statements: number("postgres", &calls), syncs: number("postgres", SYNCS) }
    }

    /// Syncs of the log so far, of a database whose connections close: only then has each told what it did.
    pub(super) fn syncs_without(&self, database: &Database) -> Option<f64> {
        self.wait_until_closed(database);
        self.sql("postgres", SYNCS).ok()?.parse().ok()
    }

    fn wait_until_closed(&self, database: &Database) {
        let open = format!("select count(*) from pg_stat_activity where datname = '{}'", database.name);
        let is_closed = || self.sql("postgres", &open).is_ok_and(|count| count == "0");
        let _ = (0..CLOSED_TRIES).any(|_| is_closed());
    }

    /// On what most time was spent, a line each: how often, how many rows, milliseconds in all and of one.
    pub(super) fn statements(&self, database: &Database) -> Result<String> {
        let query = format!(
            "select calls, rows, round(total_exec_time::numeric, 1), round(mean_exec_time::numeric, 3),
                    left(regexp_replace(query, '[[:space:]]+', ' ', 'g'), 200)
             from pg_stat_statements s join pg_database d on d.oid = s.dbid
             where d.datname = '{}' order by total_exec_time desc limit 20",
            database.name
        );
        self.sql("postgres", &query)
    }

    /// What Baton itself says of its messages, for when answers stop.
    pub(super) fn states(&self, database: &Database) -> Result<String> {
        let query = "select coalesce(outcome, state), coalesce(outcome_reason, reason), count(*)
                     from messages group by 1, 2 order by 3 desc";
        self.sql(&database.name, query)
    }

    /// Rows read so far, those read from end to end first, of a database whose connections close.
    pub(super) fn rows_read(&self, database: &Database) -> Option<(f64, f64)> {
        self.wait_until_closed(database);
        let query =
            "select coalesce(sum(seq_tup_read), 0), coalesce(sum(idx_tup_fetch), 0) from pg_stat_user_tables";
        let said = self.sql(&database.name, query).ok()?;
        let (from_end_to_end, by_index) = said.split_once('|')?;
        Some((from_end_to_end.parse().ok()?, by_index.parse().ok()?))
    }
}
