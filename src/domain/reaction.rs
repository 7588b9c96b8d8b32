//! Rules: a reaction, as the text of the message that it is kept as.

const TAKEN_BACK: &str = "[reaction removed]";
const BEFORE: &str = "[reacted ";
const BEFORE_QUOTE: &str = " to \"";

/// The text of one with that emoji to these words, either of which may be empty: without an emoji it was taken back.
pub fn text_of(emoji: &str, quote: &str) -> String {
    match (emoji.is_empty(), quote.is_empty()) {
        (true, _) => TAKEN_BACK.to_owned(),
        (false, true) => format!("{BEFORE}{emoji}]"),
        (false, false) => format!("{BEFORE}{emoji}{BEFORE_QUOTE}{quote}\"]"),
    }
}

/// The emoji of a text; None: it was taken back, or says no more.
pub fn emoji_of(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(BEFORE)?;
    let emoji = match rest.split_once(BEFORE_QUOTE) {
        Some((emoji, _)) => emoji,
        None => rest.strip_suffix(']')?,
    };
    (!emoji.trim().is_empty()).then_some(emoji)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emoji_is_read_from_the_text_that_it_was_put_in() {
        for (emoji, quote) in [("👍", ""), ("👩‍👩‍👧", "yes to \"all\"]"), ("]", "x"), ("to", "[reacted 👍]")]
        {
            assert_eq!(emoji_of(&text_of(emoji, quote)), Some(emoji), "{emoji} {quote}");
        }
        for nothing in [text_of("", ""), text_of("", "x"), String::new(), "👍".into(), "[reacted ]".into()]
        {
            assert_eq!(emoji_of(&nothing), None, "{nothing}");
        }
    }
}
