//! What is written for people is true as far as a machine can tell: links lead somewhere, commands can be typed, and
//! settings, files and tests that are named exist.
//!
//! In: every Markdown file of the repository. Out: all that is wrong with them, each with its place.

mod page;

mod typed;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path},
};

use baton::{config, domain::event::EventType, flow::generator::FailureKind};

use self::{
    page::{Page, files, page, pages, root, shown},
    typed::{commands, refusal, typed_for_baton},
};

/// A link's target from the root; None: it leads out of it.
fn resolved(place: &str, target: &str) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    let from = Path::new(place).parent().unwrap_or(Path::new(""));
    for part in from.join(target).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    let anchors: BTreeMap<&str, BTreeSet<String>> =
        pages.iter().map(|page| (page.place.as_str(), page.anchors())).collect();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in &pages {
        for link in page.links() {
            count += 1;
            let (path, part) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { Some(page.place.clone()) } else { resolved(&page.place, path) };
            let Some(target) = target.filter(|target| root().join(target).exists()) else {
                wrong.push(format!("{}: {link} leads nowhere", page.place));
                continue;
            };
            // The book is read by itself too, where nothing else is.
            if page.place.starts_with("docs/") && !target.starts_with("docs/") {
                wrong.push(format!("{}: {link} leads out of the book", page.place));
            }
            let has_part = anchors.get(target.as_str()).is_some_and(|anchors| anchors.contains(part));
            if !part.is_empty() && !has_part {
                wrong.push(format!("{}: {link}: there is no such heading", page.place));
            }
        }
    }
    assert!(count > 100, "the links were found: {count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_summary_lists_every_page_of_the_book() {
    let summary = page("docs/SUMMARY.md");
    let listed: BTreeSet<String> = summary.links().into_iter().map(ToOwned::to_owned).collect();
    let book = root().join("docs");
    let there: BTreeSet<String> = files(&book, "md")
        .iter()
        .map(|path| shown(path.strip_prefix(&book).expect("below it")))
        .filter(|path| path != "SUMMARY.md" && !path.starts_with("examples/"))
        .collect();
    assert_eq!(listed, there);
}

#[test]
fn every_command_can_be_typed() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in pages() {
        let lines = page.typed.iter().map(|block| block.replace("\\\n", " "));
        let lines: Vec<String> =
            lines.flat_map(|block| block.lines().map(ToOwned::to_owned).collect::<Vec<_>>()).collect();
        let blocks = lines.iter().map(|line| (line, false));
        for (line, is_mention) in blocks.chain(page.spans.iter().map(|span| (span, true))) {
            for mut words in commands(line).iter().filter_map(|words| typed_for_baton(words)) {
                // `baton …` stands for any of them.
                words.retain(|word| word != "…");
                if words.len() == 1 {
                    continue;
                }
                count += 1;
                wrong.extend(
                    refusal(&words, is_mention)
                        .map(|why| format!("{}: {}: {why}", page.place, words.join(" "))),
                );
            }
        }
    }
    assert!(count > 50, "the commands were found: {count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A command that cannot be typed is found out, in each of the ways in which one is written.
#[test]
fn a_command_that_cannot_be_typed_is_found_out() {
    let refused = |line: &str| -> Vec<String> {
        let lines = commands(line);
        lines
            .iter()
            .filter_map(|words| typed_for_baton(words))
            .filter_map(|words| refusal(&words, false))
            .collect()
    };
    for line in [
        "baton chekc",
        "baton check --al",
        "A=1 baton mode set 6580000001@c.us BOTH",
        "docker compose exec -T baton baton tokens list > file",
        "kubectl exec deploy/baton -- baton chekc | grep x",
        "cargo run --release -- dmeo # see",
        "baton agent",
    ] {
        assert_eq!(refused(line).len(), 1, "{line}");
    }
    for line in [
        "docker compose logs baton | grep sign-in",
        "cargo run --release -- demo # see",
        "baton agent link EMAIL",
        "# baton x",
    ] {
        assert_eq!(refused(line), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn every_setting_that_is_named_exists() {
    let mut known: BTreeSet<String> = config::arguments()
        .iter()
        .map(|argument| format!("BATON_{}", argument.get_id().as_str().to_ascii_uppercase()))
        .collect();
    known.insert("BATON_CONFIG".to_owned());
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in pages() {
        for rest in page.text.split("BATON_").skip(1) {
            let is_of_a_name = |c: &char| c.is_ascii_uppercase() || c.is_ascii_digit() || *c == '_';
            let name: String = rest.chars().take_while(is_of_a_name).collect();
            if name.is_empty() {
                continue;
            }
            count += 1;
            let name = format!("BATON_{name}");
            // A secret may lie in a file.
            if !known.contains(&name) && !name.strip_suffix("_FILE").is_some_and(|name| known.contains(name))
            {
                wrong.push(format!("{}: {name}", page.place));
            }
        }
    }
    assert!(count > 100, "the settings were found: {count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Words in the first or second cells of a table's rows, between backticks: names of the code.
fn words_of_cells(text: &str, cell: usize) -> BTreeSet<String> {
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.split('|').nth(cell + 1));
    let spans = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(ToOwned::to_owned));
    spans.filter(|span| is_word(span)).collect()
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

#[test]
fn every_event_is_in_the_table_of_events() {
    let mut told = words_of_cells(&page("docs/events.md").text, 0);
    assert!(told.remove("type"), "the head of the table");
    let known: BTreeSet<String> = EventType::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(told, known);
}

#[test]
fn every_kind_of_failure_is_in_the_runbook_of_failures() {
    let text = page("docs/runbook/failure-rate.md").text;
    let (_, after) = text.split_once("says why:").expect("it says what each kind means");
    let (kinds, _) = after.split_once("## Do").expect("then what to do");
    let told: BTreeSet<String> =
        kinds.split('`').skip(1).step_by(2).filter(|word| is_word(word)).map(ToOwned::to_owned).collect();
    let known: BTreeSet<String> = FailureKind::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(told, known);
}

/// Name, kind and help of each metric, as the source lists them.
fn metrics_of(source: &str) -> Vec<[String; 3]> {
    let lines = source.lines().filter_map(|line| line.strip_prefix("    (\"baton_")?.strip_suffix("\"),"));
    let parts = lines.filter_map(|line| {
        let (name, rest) = line.split_once("\", ")?;
        let (kind, rest) = rest.split_once(", ")?;
        let (_, help) = rest.split_once(", \"")?;
        let kind = match kind {
            "Counter" => "counter",
            "Gauge" => "gauge",
            _ => "histogram",
        };
        Some([format!("`baton_{name}`"), kind.to_owned(), help.to_owned()])
    });
    parts.collect()
}

#[test]
fn every_metric_is_in_the_table_of_metrics() {
    let source = fs::read_to_string(root().join("src/metrics.rs")).expect("a source is text");
    let known = metrics_of(&source);
    assert!(known.len() > 40, "the metrics were found: {known:?}");
    let text = page("docs/metrics.md").text;
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let told: Vec<[String; 3]> = rows
        .map(|row| {
            let mut cells = row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned());
            [(); 3].map(|()| cells.next().unwrap_or_default())
        })
        .collect();
    assert_eq!(told, known);
}

/// Codes as the sources write them: the first literal of a call that makes a refusal.
fn codes_of(source: &str) -> impl Iterator<Item = String> {
    let source = source.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(");
    let of = |call: &str| -> Vec<String> {
        let literals = source.split(call).skip(1).filter_map(|rest| rest.split('"').nth(1));
        literals.filter(|literal| is_word(literal)).map(ToOwned::to_owned).collect()
    };
    [of("Self::new(StatusCode::"), of("conflict(")].into_iter().flatten()
}

#[test]
fn every_code_of_an_error_is_in_the_table_of_errors() {
    let text = page("docs/guides/api.md").text;
    let table = text.split("## Errors").nth(1).expect("a table");
    let mut told = words_of_cells(table, 1);
    assert!(told.remove("code"), "the head of the table");
    let sources = ["src/http", "src/flow"].into_iter().flat_map(|folder| files(&root().join(folder), "rs"));
    let sources = sources.filter(|path| !path.components().any(|part| part.as_os_str() == "tests"));
    let known: BTreeSet<String> = sources
        .flat_map(|path| codes_of(&fs::read_to_string(path).expect("a source is text")).collect::<Vec<_>>())
        .collect();
    assert!(known.len() > 20, "the codes were found: {known:?}");
    assert_eq!(told, known);
}

/// Folders at the root: a span that begins with one is a path.
const FOLDERS: [&str; 8] =
    ["src/", "tests/", "docs/", "deploy/", "xtask/", "execution/", "migrations/", "dashboard/"];

fn is_path(span: &str) -> bool {
    span.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_'))
}

#[test]
fn every_file_that_is_named_exists() {
    let mut wrong = Vec::new();
    for page in pages() {
        for span in &page.spans {
            let is_path = FOLDERS.iter().any(|folder| span.starts_with(folder)) && is_path(span);
            if is_path && !root().join(span).exists() {
                wrong.push(format!("{}: {span}", page.place));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The plan of the house names what lies in `src/` without it, and a module without its ending.
#[test]
fn every_module_that_the_architecture_names_exists() {
    let page = page("ARCHITECTURE.md");
    let places = ["adapters/", "app/", "domain/", "flow/", "http/"];
    let is_module = |span: &&String| places.iter().any(|place| span.starts_with(place)) && is_path(span);
    let named: Vec<&String> = page.spans.iter().filter(is_module).collect();
    assert!(named.len() > 15, "the modules were found: {named:?}");
    let src = root().join("src");
    let is_there = |span: &&&String| src.join(span).exists() || src.join(format!("{span}.rs")).exists();
    let missing: Vec<_> = named.iter().filter(|span| !is_there(span)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Whether a file of Rust has a test of that name: with the attribute of one, or in the list of a macro that makes them.
fn has_test(source: &str, name: &str) -> bool {
    let of_any_type = || source.find(&format!("fn {name}<"));
    let Some(at) = source.find(&format!("fn {name}(")).or_else(of_any_type) else { return false };
    let line = source[..at].rfind('\n').unwrap_or(0);
    let is_marked = source[..line]
        .lines()
        .rev()
        .take_while(|line| line.trim_start().starts_with('#') || line.trim_start().starts_with("//"))
        .any(|line| line.contains("#[") && line.contains("test"));
    let is_listed = source.match_indices(name).any(|(at, _)| {
        let is_alone = source[..at].ends_with([' ', '(', '\n']) && !source[..at].ends_with("fn ");
        is_alone && source[at + name.len()..].starts_with([',', ')'])
    });
    is_marked || is_listed
}

/// Names of tests among what stands between backticks: sentences.
fn test_names(page: &Page) -> BTreeSet<&str> {
    let is_name = |span: &&str| {
        span.split('_').count() > 3
            && span.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    page.spans.iter().map(String::as_str).filter(is_name).collect()
}

#[test]
fn every_test_that_is_named_exists() {
    let folders = ["src", "tests", "execution", "xtask"];
    let sources: Vec<String> = folders
        .iter()
        .flat_map(|folder| files(&root().join(folder), "rs"))
        .map(|path| fs::read_to_string(path).expect("a source is text"))
        .collect();
    let mut missing = Vec::new();
    for place in ["docs/security.md", "docs/tests.md", "execution/README.md"] {
        let page = page(place);
        let names = test_names(&page);
        assert!(!names.is_empty(), "{place} names tests");
        let is_missing = |name: &&&str| !sources.iter().any(|source| has_test(source, name));
        missing.extend(names.iter().filter(is_missing).map(|name| format!("{place}: {name}")));
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Whoever opens the folder meets them before all else.
#[test]
fn the_first_five_files_of_stories_begin_with_the_five_scenarios() {
    let text = page("docs/tests.md").text;
    let table = text.split("of the race conditions").nth(1).expect("a table");
    let scenarios: Vec<&str> =
        table.lines().filter(|row| row.starts_with("| ")).filter_map(|row| row.split('`').nth(1)).collect();
    let source = |name: &str| {
        fs::read_to_string(root().join("tests/it").join(format!("{name}.rs"))).expect("a source is text")
    };
    let main = source("main");
    let files = main.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    let stories = files.filter(|name| !["world", "program"].contains(name)).take(5);
    let first: Vec<String> = stories
        .map(|name| {
            let source = source(name);
            let list = source.split("on_both_stores!(").nth(1).expect("a list of stories");
            list.trim_start().split(',').next().unwrap_or_default().to_owned()
        })
        .collect();
    assert_eq!(first, scenarios);
    assert_eq!(scenarios.len(), 5);
}

/// What no test shows is said in a list of its own.
#[test]
fn every_threat_names_the_test_that_shows_what_stops_it() {
    let text = page("docs/security.md").text;
    let table = text.split("## Threats").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a table");
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() > 30, "the threats were found: {}", rows.len());
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        assert!(cells.len() == 3 && cells[2].contains('_'), "no test: {row}");
    }
}
