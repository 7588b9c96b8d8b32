//! Whether a message is, as a whole, one of some agreed words: those that ask for a person, or that opt out.
//!
//! In: what the contact wrote, and the words of the policy. Out: yes or no.

/// Whether the whole message is one of the phrases, whatever its case, and whatever white space and punctuation
/// surround it. "Stop!" is "stop"; "please don't stop" is not.
pub fn is_phrase(text: &str, phrases: &[String]) -> bool {
    let said = fold(text);
    !said.is_empty() && phrases.iter().any(|phrase| fold(phrase) == said)
}

/// One spelling for all that mean the same to a reader.
fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.extend(fold_word(word));
    }
    match folded.trim_matches(|c: char| !c.is_alphanumeric()) {
        // It may be a sign only, such as an emoji.
        "" => folded,
        bare => bare.to_owned(),
    }
}

fn fold_word(word: &str) -> impl Iterator<Item = char> {
    word.chars()
        // Phones put a typographic apostrophe where a settings file has a plain one.
        .map(|c| if matches!(c, '\u{2019}' | '\u{02bc}') { '\'' } else { c })
        // Up and down again: this also brings "ß" and "SS", or the two small sigmas, together.
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        // The small form of the Turkish "İ" is an "i" with a second dot.
        .filter(|c| *c != '\u{0307}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn phrases(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn only_a_whole_message_counts_and_its_dress_does_not() {
        let known = phrases(&[
            "stop",
            "talk to a human",
            "I'd like a person",
            "МЕНЕДЖЕР",
            "人工客服",
            "straße",
            "iptal",
            "🆘",
        ]);
        for (text, wanted) in [
            ("stop", true),
            (" STOP!! ", true),
            ("«Stop.»\n", true),
            ("stop 🙏", true),
            ("Talk  to\na Human?", true),
            ("i’d like a person", true),
            ("менеджер", true),
            ("人工客服。", true),
            ("STRASSE", true),
            ("İPTAL", true),
            ("🆘", true),
            (" 🆘 ", true),
            ("stopp", false),
            ("please don't stop", false),
            ("stop it", false),
            ("talktoahuman", false),
            ("🙏", false),
            ("?!", false),
            ("", false),
            ("   ", false),
        ] {
            assert_eq!(is_phrase(text, &known), wanted, "{text:?}");
        }
    }

    #[test]
    fn nothing_is_a_phrase_where_none_is_known() {
        assert!(!is_phrase("stop", &[]));
        assert!(!is_phrase("", &phrases(&["", " "])));
        assert!(!is_phrase(" ", &phrases(&[""])));
    }

    proptest! {
        #[test]
        fn a_phrase_is_known_in_any_case_and_dress(
            phrase in r"\p{L}{1,12}( \p{L}{1,12}){0,3}",
            before in r#"[ \n\t.,!?¡¿"'()«»…。！？]{0,5}"#,
            after in r#"[ \n\t.,!?¡¿"'()«»…。！？]{0,5}"#,
        ) {
            let known = vec![phrase.clone()];
            for said in [phrase.clone(), phrase.to_uppercase()] {
                let text = format!("{before}{said}{after}");
                prop_assert!(is_phrase(&text, &known), "{:?}", text);
            }
            let longer = format!("{phrase} zzz");
            prop_assert!(!is_phrase(&longer, &known), "a longer message is another");
        }
    }
}
