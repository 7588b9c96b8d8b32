//! Alerts, their tests and pages, and the dashboard: that Prometheus reads them, and that whatever they name is there.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{
    Faults,
    tools::{Tools, judged},
};

const FOLDER: &str = "deploy/observe";
const PAGES: &str = "docs/runbook";
/// What every page tells, in this order.
const PARTS: [&str; 5] =
    ["## What it means", "## What customers notice", "## Look at", "## Do", "## Over when"];

/// Prometheus's own reading of its files, and the tests of the alerts.
pub(super) fn by_promtool(tools: &Tools) -> Result<Faults> {
    let mut faults = Faults::new();
    for words in [
        &["check", "config", "--syntax-only", "prometheus.yml"][..],
        &["check", "config", "--syntax-only", "one-machine.yml"],
        &["check", "rules", "alerts.yml"],
        &["test", "rules", "alerts.test.yml", "alerts.days.test.yml"],
    ] {
        let promtool = tools.program("promtool", words).context("there is no promtool")?;
        faults.extend(judged({ promtool }.current_dir(tools.path(FOLDER)))?);
    }
    Ok(faults)
}

/// Alerts against metrics, tests and pages.
pub(super) fn look(tools: &Tools) -> Result<Faults> {
    let metrics = Metrics::read(&tools.text("src/metrics.rs")?);
    let mut faults = Faults::new();
    let mut tested = BTreeMap::<String, BTreeSet<bool>>::new();
    for file in ["alerts.test.yml", "alerts.days.test.yml"] {
        for (alert, fires) in tests_of(&tools.yaml(&format!("{FOLDER}/{file}"))?) {
            tested.entry(alert).or_default().insert(fires);
        }
    }
    let index = tools.text(&format!("{PAGES}/README.md"))?;
    let mut linked = BTreeSet::new();
    for rule in rules_of(&tools.yaml(&format!("{FOLDER}/alerts.yml"))?) {
        let name = rule["alert"].as_str().unwrap_or_default();
        let mut say = |fault: String| faults.push(format!("{name}: {fault}"));
        if !matches!(rule["labels"]["severity"].as_str(), Some("critical" | "warning")) {
            say("its severity is neither critical nor warning".to_owned());
        }
        metrics.unknown(rule["expr"].as_str().unwrap_or_default()).into_iter().for_each(&mut say);
        if tested.get(name).is_none_or(|times| times.len() < 2) {
            say("no test shows both when it fires and when it does not".to_owned());
        }
        let page = rule["annotations"]["runbook_url"].as_str().unwrap_or_default().to_owned();
        match tools.text(&page) {
            Ok(text) if text.contains(name) && index.contains(name) => {}
            Ok(_) => say(format!("{page}, or the list of pages, does not name it")),
            Err(error) => say(format!("{error:#}")),
        }
        linked.insert(page);
    }
    for page in tools.files(PAGES, ".md")? {
        let text = tools.text(&page)?;
        faults.extend(metrics.unknown(&text).into_iter().map(|fault| format!("{page}: {fault}")));
        faults.extend(dead_links(tools, &page, &text));
        if page.ends_with("README.md") {
            continue;
        }
        if !linked.contains(&page) {
            faults.push(format!("no alert leads to {page}"));
        }
        if !in_order(&text, &PARTS) {
            faults.push(format!("{page} lacks a part, or has them in another order"));
        }
    }
    Ok(faults)
}

/// The dashboard's questions, put to promtool as if they were rules.
pub(super) fn dashboard(tools: &Tools) -> Result<Faults> {
    let metrics = Metrics::read(&tools.text("src/metrics.rs")?);
    let text = tools.text(&format!("{FOLDER}/grafana/baton.json"))?;
    let board: Value = serde_json::from_str(&text).context("the dashboard is no JSON")?;
    let mut faults = Faults::new();
    let mut rules = Vec::new();
    let (mut ids, mut titles) = (BTreeSet::new(), BTreeSet::new());
    for panel in board["panels"].as_array().into_iter().flatten() {
        let title = panel["title"].as_str().unwrap_or_default();
        if !ids.insert(panel["id"].as_u64())
            || (panel["type"] != "row" && !titles.insert((title, panel["type"].as_str())))
        {
            faults.push(format!("two panels have the id or the title of {title:?}"));
        }
        for target in panel["targets"].as_array().into_iter().flatten() {
            let asked = target["expr"].as_str().unwrap_or_default();
            faults.extend(metrics.unknown(asked).into_iter().map(|fault| format!("{title}: {fault}")));
            let asked = asked.replace("$__rate_interval", "5m").replace("$instance", ".*");
            rules.push(json!({ "record": format!("panel:{}", rules.len()), "expr": asked }));
        }
    }
    let file = tools.scratch("dashboard")?.join("rules.yml");
    // What is JSON is YAML too.
    fs::write(&file, json!({ "groups": [{ "name": "dashboard", "rules": rules }] }).to_string())?;
    let promtool =
        tools.program("promtool", &["check", "rules", "--lint=none"]).context("there is no promtool")?;
    faults.extend(judged({ promtool }.arg(file))?);
    Ok(faults)
}

fn rules_of(alerts: &Value) -> impl Iterator<Item = &Value> {
    let groups = alerts["groups"].as_array().into_iter().flatten();
    groups.flat_map(|group| group["rules"].as_array().into_iter().flatten())
}

/// For each look of the tests at an alert: which, and whether it fires.
fn tests_of(file: &Value) -> Vec<(String, bool)> {
    let tests = file["tests"].as_array().into_iter().flatten();
    let looks = tests.flat_map(|test| test["alert_rule_test"].as_array().into_iter().flatten());
    let fires = |look: &Value| look["exp_alerts"].as_array().is_some_and(|alerts| !alerts.is_empty());
    looks.map(|look| (look["alertname"].as_str().unwrap_or_default().to_owned(), fires(look))).collect()
}

fn in_order(text: &str, parts: &[&str]) -> bool {
    let lines: Vec<&str> = text.lines().filter(|line| parts.contains(line)).collect();
    lines == parts
}

/// Links to other files that are not there.
fn dead_links(tools: &Tools, page: &str, text: &str) -> Faults {
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let files = targets.filter(|target| !target.is_empty() && !target.contains("://"));
    let dead = files.filter(|target| !tools.path(&format!("{folder}/{target}")).exists());
    dead.map(|target| format!("{page}: there is no {target}")).collect()
}

/// The names of the metrics that there are; true for those that are spread over buckets.
struct Metrics(BTreeMap<String, bool>);

impl Metrics {
    /// From the table in the program's source, and the lines of the process below it.
    fn read(source: &str) -> Self {
        let lines = source.lines().filter_map(|line| line.trim().strip_prefix("(\""));
        let named = lines.filter_map(|line| {
            let (name, rest) = line.split_once('"')?;
            let is_metric = name.starts_with("baton_") || name.starts_with("process_");
            is_metric.then(|| (name.to_owned(), rest.starts_with(", Quick") || rest.starts_with(", Slow")))
        });
        Self(named.collect())
    }

    /// What a text names as a metric, and is none; or is spread over buckets, and asked for as a whole.
    fn unknown(&self, text: &str) -> Faults {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let named: BTreeSet<&str> =
            words.filter(|word| word.starts_with("baton_") || word.starts_with("process_")).collect();
        let is_known = |name: &str| {
            let parts = ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part));
            self.0.get(name) == Some(&false) || parts.is_some_and(|whole| self.0.get(whole) == Some(&true))
        };
        named
            .into_iter()
            .filter(|name| !is_known(name))
            .map(|name| format!("there is no metric {name}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
        (\"baton_depth\", Gauge, Count, \"x\"),
        (\"baton_wait_seconds\", Slow, Seconds, \"x\"),
        (\"process_threads\", \"gauge\", of_status(\"Threads\")),
        (\"other\", 1),";

    #[test]
    fn a_metric_that_is_not_there_is_found_and_so_is_one_asked_for_in_the_wrong_way() {
        let metrics = Metrics::read(SOURCE);
        let well = "max(baton_depth) + rate(baton_wait_seconds_bucket[5m]) / process_threads";
        assert_eq!(metrics.unknown(well), Faults::new());
        for wrong in
            ["baton_depths", "baton_wait_seconds", "baton_depth_bucket", "process_cpu", "baton_other"]
        {
            assert_eq!(metrics.unknown(&format!("sum({wrong})")), [format!("there is no metric {wrong}")]);
        }
    }

    #[test]
    fn an_alert_is_tested_when_it_fires_and_when_it_does_not() {
        let file = json!({ "tests": [{ "alert_rule_test": [
            { "alertname": "A" },
            { "alertname": "A", "exp_alerts": [{ "exp_labels": {} }] },
            { "alertname": "B", "exp_alerts": [] },
        ] }] });
        let looks = [("A".to_owned(), false), ("A".to_owned(), true), ("B".to_owned(), false)];
        assert_eq!(tests_of(&file), looks);
    }

    #[test]
    fn a_page_has_its_parts_in_order() {
        assert!(in_order("# x\n## A\ny\n## B\n", &["## A", "## B"]));
        for wrong in ["## B\n## A\n", "## A\n", "### A\n## B\n"] {
            assert!(!in_order(wrong, &["## A", "## B"]), "{wrong}");
        }
    }
}
