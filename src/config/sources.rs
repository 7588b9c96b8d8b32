//! Where settings come from: flags, the environment, a file. Nothing is interpreted here.
//!
//! In: the process's variables and `baton.toml`. Out: one text for each key, and who said it.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

use super::{Wrong, keys};
use crate::domain::words::words;

words! {
    /// Who said it. The first beats the second, and so on.
    Source {
        /// The command line.
        Flag = "flag",
        /// A variable.
        Environment = "environment",
        /// `baton.toml`.
        File = "file",
        /// Nobody.
        Default = "default",
    }
}

/// What was said for each key.
pub(super) type Given = BTreeMap<String, Said>;

/// A text as it was said, perhaps a secret.
#[derive(Clone)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) source: Source,
}

impl fmt::Debug for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Said({})", self.source)
    }
}

/// The variable of a key.
pub(super) fn variable(key: &str) -> String {
    format!("BATON_{}", key.to_ascii_uppercase())
}

/// Read from the environment: what it says, and variables that look like settings but are not.
pub(super) fn environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<(Given, Option<PathBuf>, Vec<String>), Wrong> {
    let mut given = Given::new();
    let mut config = None;
    let mut unknown = Vec::new();
    for (name, value) in variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with("BATON_")) else { continue };
        // Containers pass on what was never set as empty.
        if value.is_empty() {
            continue;
        }
        if name == "BATON_CONFIG" {
            config = Some(PathBuf::from(value));
            continue;
        }
        let key = name.trim_start_matches("BATON_").to_ascii_lowercase();
        let Ok(value) = value.into_string() else { return Err(Wrong::new(name, "is not UTF-8")) };
        match (keys::known(&key), key.strip_suffix("_file").filter(|key| keys::is_secret(key))) {
            (true, _) => put(&mut given, &key, value, Source::Environment, name)?,
            (false, Some(key)) => {
                put(&mut given, key, read_secret(&value, name)?, Source::Environment, name)?
            }
            (false, None) => unknown.push(name.to_owned()),
        }
    }
    unknown.sort_unstable();
    Ok((given, config, unknown))
}

/// Read from a file. One that was not asked for by name may be missing.
pub(super) fn file(path: Option<&Path>) -> Result<Given, Wrong> {
    let usual = Path::new("baton.toml");
    let text = match (path, std::fs::read_to_string(path.unwrap_or(usual))) {
        (_, Ok(text)) => text,
        (None, Err(error)) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Given::new()),
        (_, Err(error)) => {
            let whole = whole_path(path.unwrap_or(usual));
            return Err(Wrong::new(&whole.display().to_string(), error));
        }
    };
    toml_text(&text, &path.unwrap_or(usual).display().to_string())
}

fn toml_text(text: &str, name: &str) -> Result<Given, Wrong> {
    let table = text.parse::<toml::Table>().map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        Wrong::new(&format!("{name}, line {line}"), error.message().replace('\n', " "))
    })?;
    let mut given = Given::new();
    for (key, value) in &table {
        let place = format!("{key} in {name}");
        let value = scalar(value).ok_or_else(|| {
            Wrong::new(&place, "must be text, a number, true, false, or a list of texts or numbers")
        })?;
        match key.strip_suffix("_file").filter(|key| keys::is_secret(key)) {
            _ if keys::known(key) => put(&mut given, key, value, Source::File, &place)?,
            Some(secret) => put(&mut given, secret, read_secret(&value, &place)?, Source::File, &place)?,
            None => {
                let meant = keys::like(key).map(|key| format!(", did you mean {key}?"));
                let meant = meant.unwrap_or_else(|| ";".to_owned());
                let problem = format!("there is no such setting{meant} .env.example lists all");
                return Err(Wrong::new(&place, problem));
            }
        }
    }
    Ok(given)
}

fn put(given: &mut Given, key: &str, text: String, source: Source, place: &str) -> Result<(), Wrong> {
    match given.insert(key.to_owned(), Said { text, source }) {
        None => Ok(()),
        Some(_) => Err(Wrong::new(place, format!("{key} is given twice, by itself and by its file"))),
    }
}

fn scalar(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(switch) => Some(switch.to_string()),
        toml::Value::Array(items) if items.iter().all(|item| item.is_str() || item.is_integer()) => {
            Some(items.iter().filter_map(scalar).collect::<Vec<_>>().join(","))
        }
        toml::Value::Array(_) | toml::Value::Float(_) | toml::Value::Datetime(_) | toml::Value::Table(_) => {
            None
        }
    }
}

/// A secret kept in a file of its own, as container systems hand them over.
fn read_secret(path: &str, place: &str) -> Result<String, Wrong> {
    let text = read_text(Path::new(path)).map_err(|problem| Wrong::new(place, problem))?;
    Ok(text.trim().to_owned())
}

/// A file that a setting names. Where it is not there, the whole path says in which folder it was looked for.
pub(super) fn read_text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", whole_path(path).display()))
}

fn whole_path(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(given: &Given, key: &str) -> Option<String> {
        given.get(key).map(|said| said.text.clone())
    }

    #[test]
    fn variables_are_read_empty_ones_are_unset_and_strange_ones_are_named() {
        let variables = [
            ("BATON_BURST", "collect"),
            ("BATON_REDIS_URL", ""),
            ("BATON_RETENTION", "30"),
            ("BATON_CONFIG", "other.toml"),
            ("PATH", "/bin"),
        ];
        let variables = variables.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let (given, config, unknown) = environment(variables).expect("readable");
        assert_eq!(said(&given, "burst").as_deref(), Some("collect"));
        assert_eq!(given.len(), 1);
        assert_eq!(config, Some(PathBuf::from("other.toml")));
        assert_eq!(unknown, ["BATON_RETENTION"]);
    }

    #[test]
    fn a_file_gives_texts_numbers_switches_and_lists() {
        let text = "burst = \"queue\"\nreply_cap = 7\nsandbox = true\nopt_out_words = [\"stop\", \"halt\"]\n\
                    follow_up_after_ms = [1, 20]\n";
        let given = toml_text(text, "baton.toml").expect("readable");
        let all: Vec<_> = given.iter().map(|(key, said)| format!("{key}={}", said.text)).collect();
        assert_eq!(
            all,
            [
                "burst=queue",
                "follow_up_after_ms=1,20",
                "opt_out_words=stop,halt",
                "reply_cap=7",
                "sandbox=true"
            ]
        );
    }

    #[test]
    fn what_is_wrong_with_a_file_is_one_line() {
        for (text, line) in [
            (
                "brust = 1",
                "brust in baton.toml: there is no such setting, did you mean burst? .env.example lists all",
            ),
            ("zzz = 1", "zzz in baton.toml: there is no such setting; .env.example lists all"),
            (
                "[burst]\nquiet = 1",
                "burst in baton.toml: must be text, a number, true, false, or a list of texts or numbers",
            ),
            (
                "api_token_file = \"/nowhere\"",
                "api_token_file in baton.toml: /nowhere: No such file or directory (os error 2)",
            ),
        ] {
            assert_eq!(toml_text(text, "baton.toml").expect_err("wrong").to_string(), line);
        }
        let syntax =
            toml_text("burst = \"queue\"\nreply_cap 7", "baton.toml").expect_err("wrong").to_string();
        assert!(syntax.starts_with("baton.toml, line 2: ") && !syntax.contains('\n'), "{syntax}");
    }

    #[test]
    fn a_secret_may_lie_in_a_file_but_not_in_both_places() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        std::fs::write(&path, "twenty-characters-long\n").expect("written");
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let by_file = pair("BATON_API_TOKEN_FILE", path.to_str().expect("UTF-8"));
        let (given, _, _) = environment([by_file.clone()]).expect("readable");
        assert_eq!(said(&given, "api_token").as_deref(), Some("twenty-characters-long"));
        assert!(environment([by_file, pair("BATON_API_TOKEN", "another")]).is_err());
        let (_, _, unknown) = environment([pair("BATON_BURST_FILE", "x")]).expect("readable");
        assert_eq!(unknown, ["BATON_BURST_FILE"], "only secrets may lie in files");
    }
}
