//! The test that reads the imports: which room of the house may look into which. The table is that of ARCHITECTURE.md.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A room, the rooms it may import from, and crates that must not appear in it.
const ROOMS: &[(&str, &[&str], &[&str])] = &[
    ("domain", &["domain"], &["tokio", "sqlx", "reqwest", "actix_web", "redis", "execution", "metrics"]),
    ("flow", &["domain", "flow"], &["sqlx", "reqwest", "actix_web", "redis"]),
    ("adapters", &["domain", "flow", "adapters"], &["actix_web"]),
    ("http", &["domain", "flow", "http"], &["sqlx", "reqwest", "redis"]),
    ("worker.rs", &["domain", "flow"], &["sqlx", "reqwest", "actix_web", "redis"]),
    ("simulator", &["simulator"], &["sqlx", "redis"]),
    ("simulator/account", &["simulator"], &["tokio", "sqlx", "reqwest", "actix_web", "redis"]),
    ("config", &["domain", "telemetry", "config"], &["sqlx", "reqwest", "actix_web", "redis"]),
    (
        "cli",
        &["domain", "flow", "app", "config", "telemetry", "http", "simulator", "cli"],
        &["sqlx", "reqwest", "actix_web", "redis"],
    ),
];

/// Adapters know no other adapter; these are what they share.
const SHARED_BY_ADAPTERS: &[&str] = &[
    "rows",
    "commit",
    "sql",
    "write_health",
    "migrations",
    "purge",
    "archive",
    "backup",
    "http_client",
    "addresses",
    "model_server",
    "test_stores",
];

fn files(folder: &Path) -> Vec<PathBuf> {
    if folder.is_file() {
        return vec![folder.to_owned()];
    }
    let entries = fs::read_dir(folder).expect("the folder is there");
    entries
        .flat_map(|entry| files(&entry.expect("an entry").path()))
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .collect()
}

/// Every `crate::…` path in the code of a file, its first word; and every outside crate named by a `use`.
fn looks_into(path: &Path) -> (Vec<String>, Vec<String>) {
    let text = fs::read_to_string(path).expect("the file can be read");
    // What only tests import is their own business. Where they are a file, what stands below its name is code.
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String =
        code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let uses = code.lines().filter_map(|line| line.trim_start().strip_prefix("use "));
    (branches(&code, "crate::"), uses.map(first_word).collect())
}

fn first_word(path: &str) -> String {
    path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// What stands behind `root` wherever it is named, alone or in braces: the first word of each.
fn branches(code: &str, root: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, _) in code.match_indices(root) {
        let rest = &code[at + root.len()..];
        match rest.strip_prefix('{') {
            None => words.push(first_word(rest)),
            Some(list) => words.extend(first_words(list)),
        }
    }
    words
}

/// The first word of each branch of `{a::b, c::{d, e}, f}`.
fn first_words(list: &str) -> Vec<String> {
    let (mut depth, mut words, mut current) = (0, Vec::new(), String::new());
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => words.push(std::mem::take(&mut current)),
            c if depth == 0 => current.push(c),
            _ => {}
        }
    }
    words.push(current);
    words.iter().map(|word| first_word(word.trim())).filter(|word| !word.is_empty()).collect()
}

#[test]
fn imports_point_down_and_to_the_right_only() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (room, may, must_not) in ROOMS {
        for path in files(&source.join(room)) {
            let is_test = path.components().any(|part| {
                matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs" | "test_stores" | "suite"))
            });
            if is_test {
                continue;
            }
            let (rooms, crates) = looks_into(&path);
            let shown = path.strip_prefix(&source).expect("a file of ours").display().to_string();
            wrong.extend(
                rooms
                    .iter()
                    .filter(|other| !may.contains(&other.as_str()))
                    .map(|other| format!("{shown} looks into {other}")),
            );
            wrong.extend(
                crates
                    .iter()
                    .filter(|other| must_not.contains(&other.as_str()))
                    .map(|other| format!("{shown} uses {other}")),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn adapters_do_not_know_each_other() {
    let adapters = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/adapters");
    let names: Vec<String> = fs::read_dir(&adapters)
        .expect("the adapters are there")
        .map(|entry| entry.expect("an entry").path())
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| name != "mod" && !SHARED_BY_ADAPTERS.contains(&name.as_str()))
        .collect();
    for name in &names {
        for path in files(&adapters)
            .iter()
            .filter(|path| path.starts_with(adapters.join(name)) || path.ends_with(format!("{name}.rs")))
        {
            let text = fs::read_to_string(path).expect("the file can be read");
            for other in ["adapters::", "super::"].iter().flat_map(|root| branches(&text, root)) {
                assert!(other == *name || !names.contains(&other), "{} knows {other}", path.display());
            }
        }
    }
    assert!(names.len() >= 6, "{names:?}");
}

#[test]
fn only_the_wiring_names_a_concrete_adapter() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in files(&source) {
        let is_home = path.starts_with(source.join("adapters"))
            || path.starts_with(source.join("app"))
            || path.ends_with("app.rs");
        if is_home || path.ends_with("house.rs") {
            continue;
        }
        let (rooms, _) = looks_into(&path);
        assert!(!rooms.iter().any(|room| room == "adapters"), "{} names an adapter", path.display());
    }
}
