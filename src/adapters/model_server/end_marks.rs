//! Marks between the speakers of a dialogue, which models are trained with and some servers let through. In: words. Out: what is
//! before the first of them; behind it a model continues with what the other side might say.

/// What the name of most stands between.
const NAMED: [(&str, &str); 2] = [("<|", "|>"), ("<｜", "｜>")];
const WHOLE: [&str; 3] = ["<end_of_turn>", "<start_of_turn>", "[/INST]"];

/// The longest name there is has half as many letters.
const NAME_MAX: usize = 40;

/// What is said before them.
pub(super) fn before(words: &str) -> &str {
    let is_mark = |(at, _): &(usize, &str)| begins_with_one(&words[*at..]);
    let words = match words.match_indices(['<', '[']).find(is_mark) {
        Some((at, _)) => words[..at].trim_end(),
        None => words,
    };
    // Elsewhere it ends what is struck out.
    let cut = words.trim_end().strip_suffix("</s>").filter(|rest| !rest.contains("<s>"));
    cut.map_or(words, str::trim_end)
}

fn begins_with_one(rest: &str) -> bool {
    let is_name = |name: &str| {
        let is_part = |it: char| it.is_alphanumeric() || matches!(it, '_' | '-' | '▁');
        !name.is_empty() && name.len() <= NAME_MAX && name.chars().all(is_part)
    };
    let is_named = |(open, close)| {
        let inside = rest.strip_prefix(open);
        inside.and_then(|inside| inside.split_once(close)).is_some_and(|(name, _)| is_name(name))
    };
    NAMED.into_iter().any(is_named) || WHOLE.iter().any(|mark| rest.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::before;

    #[test]
    fn nothing_is_said_from_the_first_mark_on() {
        for end in [
            "<|im_end|>",
            "<|im_end|>\n<|im_start|>user\nAnd on Sunday?",
            "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nThanks",
            "<|endoftext|>",
            "<|END_OF_TURN_TOKEN|>",
            "<｜end▁of▁sentence｜>",
            "<｜User｜>And on Sunday?",
            "\n<end_of_turn>\n<start_of_turn>user\n",
            " [/INST]",
            "</s>\n",
            "</s><|im_end|>",
        ] {
            assert_eq!(before(&format!("We open at nine.{end}")), "We open at nine.", "{end}");
        }
        assert_eq!(before("<|im_end|>"), "");
    }

    #[test]
    fn other_brackets_are_words() {
        for text in [
            "1 < 2 | 3 > 2",
            "Write <|> between them, or <| and |>.",
            "<|a name with blanks|>",
            "<s>80</s>",
            "It was <s>80</s>\n",
            "</s> ends it.",
            "[INST] and <end_of_day>",
            "",
        ] {
            assert_eq!(before(text), text);
        }
    }
}
