//! The key store that instances share: a handful of scripts, each of which touches one key.

use std::{collections::BTreeSet, sync::LazyLock, time::Duration};

use async_trait::async_trait;
use redis::{FromRedisValue, Script, ScriptInvocation};

use super::{Entry, Error, KeyStore, Put, whole_ms};
use crate::redis_server::{self, Server};

/// `SET NX GET` in one, which Redis itself has only since version 7.
static PUT_IF_ABSENT: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
         return redis.call('GET', KEYS[1])",
    )
});

static GET: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local value = redis.call('GET', KEYS[1])
         if not value then return false end
         return {value, redis.call('PTTL', KEYS[1])}",
    )
});

static REPLACE_IF_EQUAL: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
         redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
         return 1",
    )
});

static DELETE_IF_EQUAL: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
         return redis.call('DEL', KEYS[1])",
    )
});

/// Keys in Redis, all of them under one prefix.
#[derive(Debug, Clone)]
pub struct Redis {
    server: Server,
    prefix: String,
}

impl Redis {
    /// The keys of this server that begin with the prefix.
    pub fn new(server: Server, prefix: impl Into<String>) -> Self {
        Self { server, prefix: prefix.into() }
    }

    fn full(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    async fn invoke<T: FromRedisValue + Send>(&self, script: &ScriptInvocation<'_>) -> Result<T, Error> {
        Ok(self.server.ask(|mut link| async move { script.invoke_async(&mut link).await }).await?)
    }

    async fn keys(&self, prefix: &str) -> Result<BTreeSet<String>, Error> {
        let pattern = &format!("{}*", literal(&self.full(prefix)));
        let mut pages = self.server.ask(|link| link.scan(pattern)).await?;
        // A set: a walk may meet a key twice.
        let mut found = BTreeSet::new();
        while let Some(page) = pages.pop() {
            found.extend(page.keys);
            if let Some(place) = page.next {
                pages.push(self.server.ask(|link| link.scan_on(pattern, place)).await?);
            }
        }
        Ok(found)
    }
}

#[async_trait]
impl KeyStore for Redis {
    async fn put_if_absent(&self, key: &str, value: &str, ttl: Duration) -> Result<Put, Error> {
        let mut script = PUT_IF_ABSENT.key(self.full(key));
        let held: Option<String> = self.invoke(script.arg(value).arg(whole_ms(ttl))).await?;
        Ok(held.map_or(Put::Written, Put::Taken))
    }

    async fn get(&self, key: &str) -> Result<Option<Entry>, Error> {
        let held: Option<(String, i64)> = self.invoke(&GET.key(self.full(key))).await?;
        // A time to live below zero is none: such a key is not of our making, and has no time left that we know of.
        let remaining = |ms| Duration::from_millis(u64::try_from(ms).unwrap_or(0));
        Ok(held.map(|(value, ms)| Entry { value, remaining: remaining(ms) }))
    }

    async fn replace_if_equal(
        &self,
        key: &str,
        expected: &str,
        value: &str,
        ttl: Duration,
    ) -> Result<bool, Error> {
        let mut script = REPLACE_IF_EQUAL.key(self.full(key));
        self.invoke(script.arg(expected).arg(value).arg(whole_ms(ttl))).await
    }

    async fn delete_if_equal(&self, key: &str, expected: &str) -> Result<bool, Error> {
        let mut script = DELETE_IF_EQUAL.key(self.full(key));
        self.invoke(script.arg(expected)).await
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Vec<(String, Entry)>, Error> {
        let mut entries = Vec::new();
        for full in self.keys(prefix).await? {
            if entries.len() == limit {
                break;
            }
            let Some(key) = full.strip_prefix(&self.prefix) else { continue };
            // Gone since the walk: nothing to show.
            if let Some(entry) = self.get(key).await? {
                entries.push((key.to_owned(), entry));
            }
        }
        Ok(entries)
    }

    async fn is_up(&self) -> bool {
        self.server.ping().await.is_ok()
    }
}

impl From<redis_server::Error> for Error {
    fn from(error: redis_server::Error) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

/// A pattern that matches just this.
fn literal(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\' | '^') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}
