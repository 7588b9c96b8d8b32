//! Any text as a long reply, under any settings. None may panic; its parts are the text in order, each within the limit,
//! cut only between characters as a reader sees them, and no more of them than wanted unless the limit asks for it.

#![no_main]

use std::collections::BTreeSet;

use baton::domain::pacing::split;
use libfuzzer_sys::fuzz_target;
use unicode_segmentation::UnicodeSegmentation as _;

fuzz_target!(|bytes: &[u8]| {
    // Small settings are the likelier ones: many cuts in a short text.
    let Some(([chars, chars_twice, parts, limit, limit_twice], text)) = bytes.split_first_chunk::<5>() else {
        return;
    };
    let split_chars = usize::from(*chars) << (chars_twice % 4);
    let split_parts = usize::from(parts % 8);
    let limit = usize::from(*limit) << (limit_twice % 6);
    let text = String::from_utf8_lossy(text);

    let parts = split(&text, split_chars, split_parts, limit);
    let settings = format!("{text:?} split above {split_chars} into {split_parts}, limit {limit}: {parts:?}");
    // As the function says: a character takes two units, and no parts at all are no choice.
    let (limit, split_parts) = (limit.max(2), split_parts.max(1));

    for part in &parts {
        assert!(!part.trim().is_empty(), "a blank part: {settings}");
        assert!(utf16_len(part) <= limit, "above the limit: {settings}");
    }
    check_order_and_cuts(&text, &parts, limit, &settings);
    check_number(&text, &parts, split_chars, split_parts, limit, &settings);
});

/// Between the parts there is white space and nothing else, and no cut is within a character that could stay whole.
fn check_order_and_cuts(text: &str, parts: &[String], limit: usize, settings: &str) {
    let between: BTreeSet<usize> =
        text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
    let is_within_a_large_one = |at: usize| {
        let begin = between.range(..at).next_back();
        let end = between.range(at..).next();
        begin.zip(end).is_some_and(|(begin, end)| utf16_len(&text[*begin..*end]) > limit)
    };
    let mut at = 0;
    for part in parts {
        let begin = at + text[at..].find(part.as_str()).unwrap_or_else(|| panic!("not in order: {settings}"));
        assert!(text[at..begin].trim().is_empty(), "words lost: {settings}");
        at = begin + part.len();
        for cut in [begin, at] {
            assert!(
                between.contains(&cut) || is_within_a_large_one(cut),
                "cut within a character at {cut}: {settings}"
            );
        }
    }
    assert!(text[at..].trim().is_empty(), "the end lost: {settings}");
}

fn check_number(
    text: &str,
    parts: &[String],
    split_chars: usize,
    split_parts: usize,
    limit: usize,
    settings: &str,
) {
    let length = utf16_len(text);
    if length <= limit && (split_chars == 0 || length <= split_chars || split_parts == 1) {
        assert_eq!(parts.len(), usize::from(!text.trim().is_empty()), "a short text stays whole: {settings}");
    }
    if fewest(text, limit) <= split_parts {
        assert!(parts.len() <= split_parts, "more parts than wanted: {settings}");
    }
}

/// The fewest parts that hold the text, cut between characters, white space included.
fn fewest(text: &str, limit: usize) -> usize {
    let (mut parts, mut room) = (0, 0);
    let mut put = |units: usize| {
        if units > room {
            (parts, room) = (parts + 1, limit);
        }
        room -= units;
    };
    for character in text.graphemes(true) {
        match utf16_len(character) {
            units if units <= limit => put(units),
            _ => character.chars().for_each(|c| put(c.len_utf16())),
        }
    }
    parts
}

fn utf16_len(text: &str) -> usize {
    text.encode_utf16().count()
}
