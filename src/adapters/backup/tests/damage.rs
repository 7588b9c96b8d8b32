//! Files that were cut off, altered, or are none of ours.

use super::{super::file::Writer, *};

/// A small one: its rows are as long as a file may be that is tried at each of its bytes.
fn small() -> Vec<u8> {
    let mut file = Vec::new();
    let head = Head::new(1, 0, "sqlite", "one".to_owned(), None);
    let mut writer = Writer::begin(&mut file, &head).expect("begun");
    writer.table("labels", &["id", "name"]).expect("written");
    for row in [r#"["a","VIP"]"#, r#"["b","angry"]"#] {
        writer.row(row).expect("written");
    }
    writer.end().expect("ended");
    file
}

/// The same with lines of our choosing.
fn packed(lines: &[&str]) -> Vec<u8> {
    use std::io::Write as _;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    for line in lines {
        writeln!(gzip, "{line}").expect("written");
    }
    gzip.finish().expect("ended")
}

fn why(file: &[u8]) -> String {
    verify(file).expect_err("refused").to_string()
}

#[test]
fn a_file_that_was_cut_off_anywhere_is_refused() {
    let whole = small();
    verify(&*whole).expect("it is whole");
    for length in 0..whole.len() {
        let told = why(&whole[..length]);
        assert!(!told.contains('\n') && !told.is_empty(), "{length}: {told}");
    }
    assert!(
        why(&whole[..whole.len() - 9]).starts_with("this backup is not whole, and nothing of it is used: ")
    );
}

#[test]
fn a_file_with_one_bit_altered_is_refused() {
    let whole = small();
    // When, how and on which system a file was packed, and whether that took it for text, is none of its contents.
    let is_beside_the_point = |at: usize, bit: u8| (4..10).contains(&at) || (at == 3 && bit == 0);
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bent = whole.clone();
            bent[at] ^= 1 << bit;
            assert_eq!(verify(&*bent).is_ok(), is_beside_the_point(at, bit), "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn what_was_altered_with_care_is_refused_too() {
    let lines = lines(&small());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let [head, opening, first, second, trailer] = lines.as_slice() else { panic!("five lines: {lines:?}") };
    for (lines, wrong) in [
        (vec![*head, opening, first, second, trailer, "more"], "something follows its end"),
        (vec![*head, opening, first, trailer], "its checksum is another"),
        (vec![*head, opening, second, first, trailer], "its checksum is another"),
        (vec![*head, opening, first, r#"["b"]"#, trailer], "a row has other columns than its table"),
        (vec![*head, first, trailer], "a row belongs to no table"),
        (vec![*head, opening, opening, trailer], "a table comes twice"),
        (vec![*head, opening, "[1", trailer], "a row cannot be read"),
        (vec![*head, opening, "{}", trailer], "a line cannot be read"),
        (vec![*head, opening, first, second], "it ends too early"),
    ] {
        let told = why(&packed(&lines));
        assert_eq!(told, format!("this backup is not whole, and nothing of it is used: {wrong}"));
    }
    let mut followed = small();
    followed.extend_from_slice(b"more");
    assert!(verify(&*followed).is_err());
}

#[test]
fn another_file_is_none_of_ours_and_a_later_format_names_its_program() {
    for other in [&b""[..], b"PGDMP", &packed(&["{}"]), &packed(&["hello"]), &packed(&[])] {
        assert_eq!(why(other), "this is not a backup of Baton");
    }
    let later = packed(&[r#"{"baton":"backup","format":2,"version":"9.1.0","anything":[]}"#]);
    assert_eq!(
        why(&later),
        "this backup was made by Baton 9.1.0, which is newer: take that one, or a later one"
    );
}

#[test]
fn a_line_without_end_is_not_read_for_ever() {
    let file = packed(&[&format!(r#"{{"baton":"backup","x":"{}"}}"#, " ".repeat(65 * 1024 * 1024))]);
    assert!(file.len() < 1024 * 1024, "small, and large when it is unpacked");
    assert_eq!(why(&file), "this is not a backup of Baton");
}
