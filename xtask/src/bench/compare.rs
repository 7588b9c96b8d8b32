//! Two runs beside each other.
//!
//! In: what two runs wrote down. Out: each figure of both, and how many times the first the second is. Where a figure
//! has a limit, that is compared in which no other machine or hour shows: its ratio to its limit.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{
    figures::ratio,
    report::{row, short},
};

/// Reads both and returns the table.
pub(super) fn compare(first: &Path, second: &Path) -> Result<String> {
    Ok(table(&read(first)?, &read(second)?))
}

fn read(file: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is no report", file.display()))
}

fn table(first: &Value, second: &Value) -> String {
    let mut lines = Vec::new();
    for name in ["commit", "binary", "cores", "store", "quick"] {
        let is_alike = first[name] == second[name];
        let mark = if is_alike || matches!(name, "commit" | "binary") {
            ""
        } else {
            "   (not alike: compare with care)"
        };
        lines.push(format!("{name}: {} and {}{mark}", first[name], second[name]));
    }
    lines.push(row("load", "figure", "first", "second", "times"));
    for (load, section) in objects(&first["loads"]) {
        for (name, figure) in objects(&section["figures"]) {
            let other = &second["loads"][load]["figures"][name];
            lines.extend(line(load, name, &figure["value"], &other["value"]));
            lines.extend(line(load, &format!("{name}, of its limit"), &figure["ratio"], &other["ratio"]));
        }
    }
    lines.join("\n") + "\n"
}

/// None where one of the two is not there.
fn line(load: &str, name: &str, first: &Value, second: &Value) -> Option<String> {
    let (first, second) = (first.as_f64()?, second.as_f64()?);
    let times = ratio(second, first).map_or_else(String::new, |times| format!("{times:.3}"));
    Some(row(load, name, &short(first), &short(second), &times))
}

fn objects(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_of_both_are_compared_and_no_others() {
        let run = |value: f64, ratio: f64, other: &str| {
            json!({ "commit": "a", "cores": 2, "loads": { "ceiling": { "figures": {
                "answered_per_s": { "value": value, "limit": 1, "ratio": ratio }, other: { "value": 1.0 } } } } })
        };
        let table = table(&run(1_000.0, 0.2, "x"), &run(1_500.0, 0.25, "y"));
        let lines: Vec<Vec<&str>> =
            table.lines().skip(6).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["ceiling", "answered_per_s", "1000", "1500", "1.500"]);
        assert_eq!(lines[1].last(), Some(&"1.250"));
        assert_eq!(lines.len(), 2);
    }
}
