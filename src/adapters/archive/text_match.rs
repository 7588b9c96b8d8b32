//! Words that are looked for, in whatever case, in any script: as a condition of a statement, and in a text that was found.
//!
//! Neither database folds the case of more than ASCII by itself: SQLite never, PostgreSQL only where its locale does. So
//! each letter is looked for in all the cases that it has, as a set of letters in a pattern that both databases read
//! whatever their locale.

use crate::adapters::sql::{Engine, Statement};

/// Words of a search beyond this are cut off.
const WORDS_MAX: usize = 256;

/// Fewer digits than this are no part of a phone number that anyone would look for.
const DIGITS_MIN: usize = 3;

/// How much of a text is shown before what was found in it, and in all.
const BEFORE: usize = 40;
const SHOWN: usize = 140;

/// What is looked for.
#[derive(Debug, Clone)]
pub(super) struct TextMatch {
    /// Each letter in its cases.
    letters: Vec<Vec<char>>,
    /// The pattern that the database reads.
    pattern: String,
    /// The operator that reads it, and what comes after it.
    operator: (&'static str, &'static str),
    digits: Option<String>,
}

impl TextMatch {
    /// From what somebody has typed.
    pub(super) fn new(engine: Engine, typed: &str) -> Self {
        let typed: String = typed.trim().chars().take(WORDS_MAX).collect();
        let letters: Vec<Vec<char>> = typed.chars().map(cases).collect();
        let (pattern, operator) = match engine {
            Engine::Postgres => (regular(&letters), (" ~ ", "")),
            // Knows the cases of ASCII, and is six times as fast.
            Engine::Sqlite if typed.is_ascii() => (like(&typed), (" like ", r" escape '\'")),
            Engine::Sqlite => (glob(&letters), (" glob ", "")),
        };
        Self { letters, pattern, operator, digits: digits(&typed) }
    }

    /// "Holds the words", of a column.
    pub(super) fn held_by(&self, statement: &mut Statement, column: &'static str) {
        let (operator, after) = self.operator;
        statement.push(column).push(operator).bind(self.pattern.as_str()).push(after);
    }

    /// "Is of a phone number that holds the digits", of an id of a chat; nothing if the words are no digits.
    pub(super) fn phone(&self) -> Option<String> {
        self.digits.as_ref().map(|digits| format!("%{digits}%@c.us"))
    }

    /// A piece of the text around the first place where it holds the words; its beginning, if the database alone sees it.
    pub(super) fn snippet(&self, text: &str) -> String {
        // Line breaks and the like are one space to whoever reads a line of a list.
        let text: Vec<char> = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
        let at = text
            .windows(self.letters.len().max(1))
            .position(|piece| piece.iter().zip(&self.letters).all(|(letter, cases)| cases.contains(letter)));
        let mut from = at.unwrap_or(0).saturating_sub(BEFORE);
        if from > 0 {
            // From the beginning of a word, if there is one before what was found.
            let word = text[from..at.unwrap_or(from)].iter().position(|c| *c == ' ');
            from += word.map_or(0, |space| space + 1);
        }
        let to = (from + SHOWN).min(text.len());
        let mut snippet = if from > 0 { "…".to_owned() } else { String::new() };
        snippet.extend(&text[from..to]);
        let shown = snippet.trim_end().len();
        snippet.truncate(shown);
        if to < text.len() {
            snippet.push('…');
        }
        snippet
    }
}

/// The cases of a letter. One that becomes two letters in the other case has only its own.
fn cases(letter: char) -> Vec<char> {
    match letter {
        // One letter, whose small form depends on its place.
        'Σ' | 'σ' | 'ς' => return vec!['Σ', 'σ', 'ς'],
        // Written large, it is mostly two.
        'ß' | 'ẞ' => return vec!['ß', 'ẞ'],
        _ => {}
    }
    let one = |mut cases: Vec<char>| if cases.len() == 1 { cases.pop() } else { None };
    let mut all = vec![letter];
    for other in [one(letter.to_lowercase().collect()), one(letter.to_uppercase().collect())] {
        all.extend(other.filter(|other| !all.contains(other)));
    }
    all
}

/// A regular expression. Anything but letters and digits is no operator with a backslash before it.
fn regular(letters: &[Vec<char>]) -> String {
    letters.iter().fold(String::new(), |mut pattern, cases| {
        match cases.as_slice() {
            [one] if one.is_ascii() && !one.is_ascii_alphanumeric() => pattern.extend(['\\', *one]),
            [one] => pattern.push(*one),
            several => {
                pattern.push('[');
                pattern.extend(several);
                pattern.push(']');
            }
        }
        pattern
    })
}

fn glob(letters: &[Vec<char>]) -> String {
    let mut pattern = letters.iter().fold(String::from("*"), |mut pattern, cases| {
        match cases.as_slice() {
            [one] if !matches!(one, '*' | '?' | '[') => pattern.push(*one),
            several => {
                pattern.push('[');
                pattern.extend(several);
                pattern.push(']');
            }
        }
        pattern
    });
    pattern.push('*');
    pattern
}

fn like(words: &str) -> String {
    let mut pattern = String::from("%");
    for letter in words.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

/// The digits, if the words look like a phone number or a piece of one.
fn digits(words: &str) -> Option<String> {
    let is_punctuation = |c: char| c.is_whitespace() || matches!(c, '+' | '-' | '(' | ')' | '.' | '/');
    if !words.chars().all(|c| c.is_ascii_digit() || is_punctuation(c)) {
        return None;
    }
    let digits: String = words.chars().filter(char::is_ascii_digit).collect();
    (digits.len() >= DIGITS_MIN).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_letter_is_looked_for_in_its_cases() {
        for (typed, regular, glob) in [
            (" ab1 ", "[aA][bB]1", "%ab1%"),
            ("Ä.", "[Ää]\\.", "*[Ää].*"),
            ("ß[", "[ßẞ]\\[", "*[ßẞ][[]*"),
            ("İ", "İ", "*İ*"),
            ("ς", "[σςΣ]", "*[σςΣ]*"),
            ("房?", "房\\?", "*房[?]*"),
            (r"50%_\", r"50\%\_\\", r"%50\%\_\\%"),
        ] {
            let typed_with = |engine| TextMatch::new(engine, typed).pattern;
            // The order within a set is nobody's business.
            let sorted = |pattern: &str| {
                let mut letters: Vec<char> = pattern.chars().collect();
                letters.sort_unstable();
                letters
            };
            assert_eq!(sorted(&typed_with(Engine::Postgres)), sorted(regular), "{typed}");
            assert_eq!(sorted(&typed_with(Engine::Sqlite)), sorted(glob), "{typed}");
        }
    }

    #[test]
    fn only_what_looks_like_a_phone_number_is_looked_for_as_one() {
        for (words, wanted) in [
            ("+65 8000-0001", Some("6580000001")),
            ("0001", Some("0001")),
            ("42", None),
            ("42 shoes", None),
            ("Mei", None),
            ("", None),
        ] {
            assert_eq!(digits(words).as_deref(), wanted, "{words:?}");
        }
    }

    #[test]
    fn a_snippet_shows_what_was_found_and_what_stands_around_it() {
        let words = TextMatch::new(Engine::Postgres, "CONDO");
        assert_eq!(words.snippet("A condo,\nplease"), "A condo, please");
        assert_eq!(words.snippet(""), "");
        let far = format!("{} condo {}", "ab ".repeat(50), "cd ".repeat(50));
        let snippet = words.snippet(&far);
        assert!(snippet.starts_with("…ab ") && snippet.ends_with('…'), "{snippet}");
        assert!(snippet.contains(" condo cd "), "{snippet}");
        assert!(snippet.chars().count() <= SHOWN + 2, "{snippet}");
        let one_word = format!("{}condo", "x".repeat(500));
        assert!(words.snippet(&one_word).ends_with("xcondo"), "a word without an end is cut");
        assert_eq!(TextMatch::new(Engine::Sqlite, "ÄRGER").snippet("so viel Ärger"), "so viel Ärger");
    }
}
