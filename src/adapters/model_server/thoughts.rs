//! Thoughts that a server leaves among the words. In: the text so far. Out: what is behind them.

/// How blocks of thoughts open and close.
const THOUGHTS: [(&str, &str); 2] = [("<think>", "</think>"), ("[THINK]", "[/THINK]")];

/// Whether that is, or may become, the opening of a block.
pub(super) fn may_open(begun: &str) -> bool {
    THOUGHTS.iter().any(|(open, _)| open.starts_with(begun))
}

/// What is behind the block at the beginning.
pub(super) fn without(text: &str) -> &str {
    THOUGHTS.iter().find_map(|(open, close)| behind_thoughts(text, open, close)).unwrap_or(text)
}

/// Some servers open the block themselves, in front of what they give: then its end is all that is seen of it. Anywhere else
/// the tags are text.
fn behind_thoughts<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    match (text.trim_start().strip_prefix(open), text.split_once(close)) {
        (Some(thoughts), _) => Some(thoughts.split_once(close).map_or("", |(_, words)| words.trim_start())),
        (None, Some((thoughts, words))) if !thoughts.contains(open) => Some(words.trim_start()),
        (None, _) => None,
    }
}
