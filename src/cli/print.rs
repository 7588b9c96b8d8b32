//! Answers of commands, on stdout: aligned columns for people, JSON for programs.

use std::{
    borrow::Cow,
    fmt::{Display, Write as _},
    io::{self, Write as _},
};

use serde::Serialize;

/// How a command answers.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Format {
    /// Answer in JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Writes lines. Whatever else steers a terminal is shown, and not done: much of what is written here was given by others.
pub(super) fn text(text: &str) -> io::Result<()> {
    let text = visible(text, |c| !matches!(c, '\n' | '\t'));
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Writes what is wrong, for people alone.
pub(super) fn wrong(text: &str) {
    eprintln!("{}", visible(text, |c| !matches!(c, '\n' | '\t')));
}

/// The text with those of its control characters in letters, as JSON has them: a string of it stays the same.
fn visible(text: &str, is_shown: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_shown = |c: char| c.is_control() && is_shown(c);
    if !text.contains(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_shown(c) {
            // Writing to a String cannot fail.
            true => drop(write!(shown, "\\u{:04x}", u32::from(c))),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Writes JSON. What the API shows too is a type of `http::wire`, so that a program reads both alike.
pub(super) fn json(value: &impl Serialize) -> io::Result<()> {
    text(&serde_json::to_string_pretty(value)?)
}

/// Rows under a head, each column as wide as its widest cell. `none` if there are no rows. A row is one line, whatever its
/// cells hold.
pub(super) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    if rows.is_empty() {
        return "none\n".to_owned();
    }
    let rows: Vec<[Cow<'_, str>; N]> =
        rows.iter().map(|row| row.each_ref().map(|cell| visible(cell, |_| true))).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or_default()
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let head = head.map(Cow::Borrowed);
    let mut text = String::new();
    for row in std::iter::once(&head).chain(&rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            // Writing to a String cannot fail.
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// How many rows of each table.
pub(super) fn counts(rows: impl IntoIterator<Item = (impl Display, impl Display)>) -> String {
    let rows: Vec<_> = rows.into_iter().map(|(table, rows)| [table.to_string(), rows.to_string()]).collect();
    table(["TABLE", "ROWS"], &rows)
}

/// A number of things: `1 message`, `2 messages`.
pub(super) fn count(of: usize, what: &str) -> String {
    format!("{of} {what}{}", if of == 1 { "" } else { "s" })
}

/// A span of time as people say it, in its largest unit: `850 ms`, `12 s`, `3 min`, `2 h`, `5 d`.
pub(super) fn span(ms: i64) -> String {
    match ms {
        ..=999 => format!("{ms} ms"),
        1_000..=59_999 => format!("{} s", ms / 1_000),
        60_000..=3_599_999 => format!("{} min", ms / 60_000),
        3_600_000..=172_799_999 => format!("{} h", ms / 3_600_000),
        _ => format!("{} d", ms / 86_400_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_characters_and_lines_end_where_their_words_do() {
        let rows = [["Zoë".to_owned(), "1".to_owned()], ["Li".to_owned(), String::new()]];
        assert_eq!(table(["NAME", "N"], &rows), "NAME  N\nZoë   1\nLi\n");
        assert_eq!(table(["NAME"], &[]), "none\n");
    }

    #[test]
    fn what_steers_a_terminal_is_shown_instead_and_a_row_stays_one_line() {
        let hidden = "\r\u{1b}[2K\u{9b}A\u{7f}".to_owned();
        let table = table(["NAME"], &[[format!("{hidden}\nme")]]);
        assert_eq!(table, "NAME\n\\u000d\\u001b[2K\\u009bA\\u007f\\u000ame\n");
        assert_eq!(visible("a\n\tb", |c| !matches!(c, '\n' | '\t')), "a\n\tb");
        let json = serde_json::to_string_pretty(&[&hidden]).expect("JSON");
        let shown = visible(&json, |c| c != '\n');
        assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&shown).expect("still JSON"), [hidden]);
    }

    #[test]
    fn spans_are_said_in_their_largest_unit() {
        let said = [850, 12_900, 180_000, 7_200_000, 432_000_000, -5].map(span);
        assert_eq!(said, ["850 ms", "12 s", "3 min", "2 h", "5 d", "-5 ms"]);
    }
}
