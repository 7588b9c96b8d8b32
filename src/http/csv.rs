//! Rows of comma-separated values (RFC 4180) that no spreadsheet runs.
//!
//! In: the cells of a row. Out: its line, appended to a text.

/// A cell that begins so is a formula, or hides one, to some spreadsheet: to those of East Asia also in full width.
const RUN: [char; 10] = ['=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r'];

/// Behind these, too, a cell begins to one that takes another separator, as it is usual in many countries: to it, quotation
/// marks in the middle of what it takes for a cell are letters.
const BEGIN: [char; 4] = [';', '\t', '\r', '\n'];

/// Appends a row. What would be run gets an apostrophe in front, as a person would type it.
pub(super) fn push_row<'c>(text: &mut String, cells: impl IntoIterator<Item = &'c str>) {
    for (at, cell) in cells.into_iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        push_cell(text, cell);
    }
    text.push_str("\r\n");
}

fn push_cell(text: &mut String, cell: &str) {
    let is_quoted = cell.contains([',', '"', '\r', '\n']);
    if is_quoted {
        text.push('"');
    }
    let mut is_begun = false;
    for letter in cell.chars() {
        if !is_begun && RUN.contains(&letter) {
            text.push('\'');
        }
        text.push(letter);
        if letter == '"' {
            text.push('"');
        } else {
            is_begun = !BEGIN.contains(&letter);
        }
    }
    if is_quoted {
        text.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_spreadsheet_would_run_is_made_inert_and_all_else_stays_as_it_was() {
        for (cell, written) in [
            ("Hello", "Hello"),
            ("", ""),
            ("a, b", "\"a, b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "'=1+1"),
            ("+6580000001", "'+6580000001"),
            ("-5", "'-5"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("＝1+1", "'＝1+1"),
            ("＋1", "'＋1"),
            ("－1", "'－1"),
            ("Hi;＠A1", "Hi;'＠A1"),
            ("\t=1", "'\t'=1"),
            ("\r=1", "\"'\r'=1\""),
            ("Hi;=1+1;x", "Hi;'=1+1;x"),
            ("Hi;1+1", "Hi;1+1"),
            ("Hi\n=1+1", "\"Hi\n'=1+1\""),
            ("Hi\r\n@A1", "\"Hi\r\n'@A1\""),
            ("a;\"=1\"", "\"a;\"\"'=1\"\"\""),
            ("=A1,\"B\"", "\"'=A1,\"\"B\"\"\""),
            ("'=1", "'=1"),
            ("5 - 3", "5 - 3"),
            ("你好", "你好"),
        ] {
            let mut text = String::new();
            push_row(&mut text, [cell]);
            assert_eq!(text, format!("{written}\r\n"), "{cell:?}");
        }
    }

    #[test]
    fn a_row_has_as_many_cells_as_it_was_given() {
        let mut text = String::new();
        push_row(&mut text, ["a", "", "c"]);
        push_row(&mut text, ["1", "2", "3"]);
        assert_eq!(text, "a,,c\r\n1,2,3\r\n");
    }
}
