//! Thoughts that a server leaves among the words. In: the text so far. Out: what is behind them.

/// How blocks of thoughts open and close, in any case.
const TAGS: [(&str, &str); 6] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<mm:think>", "</mm:think>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
];

/// Whether that may become the opening of a block.
pub(super) fn may_open(begun: &str) -> bool {
    let is_begun = |open: &str| open.get(..begun.len()).is_some_and(|it| it.eq_ignore_ascii_case(begun));
    TAGS.iter().any(|(open, _)| is_begun(open))
}

/// What is behind the last of the blocks at the beginning. Some servers open a block themselves, in front of what they give: then
/// its end is all that is seen of it, and everything before that is thoughts. Anywhere else the tags are text.
pub(super) fn without(text: &str) -> &str {
    let words_from = |at: usize| text.len() - text[at..].trim_start().len();
    let mut words_at = words_from(0);
    let mut thinks: Option<usize> = None;
    // Blocks that are part of the words, as far as they are open.
    let mut quoted = [0_usize; TAGS.len()];
    for (at, _) in text.match_indices(['<', '[']) {
        let Some(tag) = Tag::at(text, at) else { continue };
        match (thinks, tag.opens) {
            (None, true) if at == words_at => thinks = Some(tag.kind),
            (None, true) => quoted[tag.kind] += 1,
            (None, false) if quoted[tag.kind] > 0 => quoted[tag.kind] -= 1,
            (Some(kind), opens) if opens || kind != tag.kind => {}
            (None | Some(_), _) => {
                (thinks, quoted) = (None, [0; TAGS.len()]);
                words_at = words_from(tag.end);
            }
        }
    }
    if thinks.is_some() { "" } else { &text[words_at..] }
}

struct Tag {
    kind: usize,
    opens: bool,
    end: usize,
}

impl Tag {
    fn at(text: &str, at: usize) -> Option<Self> {
        let end_of = |tag: &str| {
            let end = at + tag.len();
            text.get(at..end).is_some_and(|it| it.eq_ignore_ascii_case(tag)).then_some(end)
        };
        TAGS.iter().enumerate().find_map(|(kind, (open, close))| match (end_of(open), end_of(close)) {
            (Some(end), _) => Some(Self { kind, opens: true, end }),
            (None, Some(end)) => Some(Self { kind, opens: false, end }),
            (None, None) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_left_out_however_many_blocks_there_are_and_whoever_opened_them() {
        for (text, words) in [
            ("<think></think><think>secret</think>Answer.", "Answer."),
            ("<think>\n\n</think>\n\n<think>\nsecret\n</think>\n\nAnswer.", "Answer."),
            ("<think><think>secret</think></think>Answer.", "Answer."),
            ("<think>\n<think>secret</think>Answer.", "Answer."),
            ("<think></think>Okay, the user asks.</think>Answer.", "Answer."),
            ("One.</think>Two.</think>Answer.", "Answer."),
            ("<THINK>secret</Think>Answer.", "Answer."),
            ("<thinking>secret</thinking>Answer.", "Answer."),
            ("<thought>secret</thought>Answer.", "Answer."),
            ("<mm:think>secret</mm:think>Answer.", "Answer."),
            ("<seed:think>secret</seed:think>Answer.", "Answer."),
            ("[think]secret[/think]<think>more</think>Answer.", "Answer."),
            ("We write <think>so</think> at times.</think>Answer.", "Answer."),
            ("<think>a</think><think>not over", ""),
            ("<think>about [/THINK] and </thinking>, too</think>Answer.", "Answer."),
        ] {
            assert_eq!(without(text), words, "{text}");
        }
    }

    #[test]
    fn tags_among_the_words_are_words() {
        for text in [
            "We write <think>so</think> here.",
            "We write <think>so</think> and <think>so</think>.",
            "A <thinking> that never ends.",
            "1 < 2, [so] it is.",
        ] {
            assert_eq!(without(text), text);
        }
        assert_eq!(without("<think>a</think>We write <think>so</think>."), "We write <think>so</think>.");
    }
}
