//! Small rules about texts: how long one may be, when it says nothing, when it is not the contact's at all.

pub(super) use crate::domain::message::{QUOTE_MAX, is_blank};

/// Longest text taken, in characters: what WhatsApp itself lets a person write.
pub(super) const TEXT_MAX: usize = 65_536;

/// Longest name of a contact or file.
pub(super) const NAME_MAX: usize = 256;

/// The text up to that many characters.
pub(super) fn cut(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}

/// A name as it is kept: trimmed and cut; None if there is none.
pub(super) fn name(text: &str) -> Option<String> {
    let name = cut(text.trim(), NAME_MAX);
    (!name.is_empty()).then(|| name.to_owned())
}

/// Whether the provider put one of its marks where a text or an address should be: `{{SWE001}}`.
pub(super) fn is_mark(text: &str) -> bool {
    let code = text.trim().strip_prefix("{{SWE").and_then(|rest| rest.strip_suffix("}}"));
    code.is_some_and(|code| !code.is_empty() && code.bytes().all(|b| b.is_ascii_digit()))
}

/// What comes between the brackets of a description: `image`, `location: name, address`. Empty pieces are left out.
pub(super) fn bracketed(what: &str, pieces: &[&str]) -> String {
    let pieces: Vec<&str> =
        pieces.iter().map(|piece| piece.trim()).filter(|piece| !piece.is_empty()).collect();
    if pieces.is_empty() { format!("[{what}]") } else { format!("[{what}: {}]", pieces.join(", ")) }
}

/// A description with the contact's own words after it, if there are any.
pub(super) fn with_words(description: String, words: &str) -> String {
    if is_blank(words) { description } else { format!("{description} {}", words.trim()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_by_characters_and_never_inside_one() {
        assert_eq!(cut("héllo", 2), "hé");
        assert_eq!(cut("hé", 2), "hé");
        assert_eq!(name(&"ん".repeat(300)).map(|name| name.chars().count()), Some(NAME_MAX));
        assert_eq!(name("  "), None);
    }

    #[test]
    fn what_cannot_be_seen_is_blank() {
        for blank in ["", " \n", "\u{200b}", "\u{202e}\u{feff} "] {
            assert!(is_blank(blank), "{blank:?}");
        }
        assert!(!is_blank("👍"));
    }

    #[test]
    fn only_the_whole_text_is_a_mark() {
        for mark in ["{{SWE001}}", " {{SWE003}} ", "{{SWE999}}"] {
            assert!(is_mark(mark), "{mark}");
        }
        for text in ["", "{{SWE}}", "what is {{SWE001}}?", "{{SWE00x}}"] {
            assert!(!is_mark(text), "{text}");
        }
    }

    #[test]
    fn a_description_leaves_out_what_is_empty() {
        assert_eq!(bracketed("image", &[]), "[image]");
        assert_eq!(bracketed("location", &["Park", " ", "1,2"]), "[location: Park, 1,2]");
        assert_eq!(with_words("[image]".into(), " "), "[image]");
        assert_eq!(with_words("[image]".into(), "broken"), "[image] broken");
    }
}
