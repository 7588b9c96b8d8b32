//! An answer as it grows, whatever wire it comes by. In: words, calls, counts and an end. Out: the words so far, and at
//! the end the whole, or why there is none.

use serde_json::{Map, Value};

use super::{COLLEAGUE_MARK, calls_in_words, end_marks, failure::failed, thoughts};
use crate::{
    domain::message::is_blank,
    flow::generator::{Beside, Failure, FailureKind, ToolCall, Written},
};

/// Tools called in one answer. More is a model gone astray.
const CALLS_MAX: usize = 32;

/// Most tokens of one answer that are believed: more than any model reads, and sums of it stay numbers that can be kept.
const TOKENS_MAX: i64 = 1_000_000_000;

#[derive(Default)]
pub(crate) struct Assembly {
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    input_tokens: i64,
    output_tokens: i64,
    /// Thoughts that the server gives alongside the words.
    pub(crate) thoughts: String,
    /// The same in blocks.
    pub(crate) details: Vec<Map<String, Value>>,
    /// How much has come in those.
    pub(crate) details_bytes: usize,
    /// Some of it has come as pieces of a stream.
    pub(crate) comes_in_pieces: bool,
    /// Something else has come behind the words.
    pub(crate) is_parted: bool,
    /// It was ended at the limit of its length.
    pub(crate) is_cut: bool,
    finish: Option<Finish>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Finish {
    /// By itself, at its length limit, or to call tools: whatever the server names, it is an end.
    Ended,
    /// The server says that it is not an answer, and why.
    Failed(FailureKind, &'static str),
}

/// A call, whose pieces come one by one.
#[derive(Default)]
pub(crate) struct Call {
    /// The server's number for it.
    pub(crate) index: Option<i64>,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
    /// What the server wants to see again with it.
    pub(crate) extra: Option<Value>,
}

impl Assembly {
    /// A call begins.
    pub(crate) fn begin_call(&mut self, call: Call) -> Result<(), Failure> {
        if self.calls.len() == CALLS_MAX {
            let detail = format!("more than {CALLS_MAX} tools called at once");
            return Err(failed(FailureKind::Malformed, detail));
        }
        self.calls.push(call);
        Ok(())
    }

    /// Words came. Behind something else they are a paragraph of their own.
    pub(crate) fn write(&mut self, words: &str) {
        if words.is_empty() {
            return;
        }
        let touches = |it: Option<char>| it.is_some_and(|it| !it.is_whitespace());
        if self.is_parted && touches(self.text.chars().next_back()) && touches(words.chars().next()) {
            self.text.push_str("\n\n");
        }
        self.is_parted = false;
        self.text.push_str(words);
    }

    /// What the server has counted. Each count is a sum so far: the last one holds. None: nothing is said of it.
    pub(crate) fn count(&mut self, input_tokens: Option<i64>, output_tokens: Option<i64>) {
        self.input_tokens = input_tokens.unwrap_or(self.input_tokens).clamp(0, TOKENS_MAX);
        self.output_tokens = output_tokens.unwrap_or(self.output_tokens).clamp(0, TOKENS_MAX);
    }

    /// How large it has become.
    pub(super) fn kept_bytes(&self) -> usize {
        let arguments = self.calls.iter().map(|call| call.arguments.len()).sum::<usize>();
        self.text.len() + self.thoughts.len() + self.details_bytes + arguments
    }

    /// An end marker or a finish reason came.
    pub(crate) fn end(&mut self) {
        self.finish.get_or_insert(Finish::Ended);
    }

    /// It was ended by the model's own filter.
    pub(crate) fn filter(&mut self) {
        self.fail(FailureKind::Filtered, "ended by the content filter");
    }

    /// It was ended before it was an answer. The count of its tokens may come behind that.
    pub(crate) fn fail(&mut self, kind: FailureKind, detail: &'static str) {
        self.finish = Some(Finish::Failed(kind, detail));
    }

    /// What it has cost to fail so.
    pub(super) fn counted(&self, failure: Failure) -> Failure {
        failure.counting(self.input_tokens, self.output_tokens)
    }

    /// There was an end marker or a finish reason.
    pub(super) const fn has_ended(&self) -> bool {
        self.finish.is_some()
    }

    /// The words so far, as the contact would read them.
    pub(crate) fn so_far(&self) -> &str {
        let words = end_marks::before(words_of(&self.text));
        if thoughts::may_open(words.trim()) { "" } else { words }
    }

    /// The answer, if there is one.
    pub(crate) fn finish(self) -> Result<Written, Failure> {
        let (input_tokens, output_tokens) = (self.input_tokens, self.output_tokens);
        self.answer().map_err(|failure| failure.counting(input_tokens, output_tokens))
    }

    fn answer(self) -> Result<Written, Failure> {
        match self.finish {
            None => return Err(failed(FailureKind::Cut, "the stream ended without an end marker")),
            Some(Finish::Failed(kind, detail)) => return Err(failed(kind, detail)),
            Some(Finish::Ended) => {}
        }
        let words = words_of(&self.text).trim();
        if calls_in_words::has_mark(words) {
            return Err(failed(FailureKind::Malformed, "a tool was called in words"));
        }
        let words = end_marks::before(words);
        let text = if is_blank(words) { String::new() } else { words.to_owned() };
        if text.is_empty() && self.calls.is_empty() {
            return Err(failed(FailureKind::Empty, "nothing was written"));
        }
        let calls = self.calls.into_iter().enumerate().map(named);
        let mut calls = calls.collect::<Result<Vec<_>, _>>()?;
        if let Some(first) = calls.first_mut() {
            (first.beside.thoughts, first.beside.details) = (self.thoughts, self.details);
        }
        let (input_tokens, output_tokens) = (self.input_tokens, self.output_tokens);
        Ok(Written { text, calls, input_tokens, output_tokens, is_cut: self.is_cut })
    }
}

fn named((at, call): (usize, Call)) -> Result<ToolCall, Failure> {
    if call.name.is_empty() {
        return Err(failed(FailureKind::Malformed, "a tool was called without its name"));
    }
    let id = if call.id.is_empty() { format!("call_{at}") } else { call.id };
    let beside = Beside { extra: call.extra, ..Beside::default() };
    Ok(ToolCall { id, name: call.name, arguments: call.arguments, beside })
}

/// What is for the contact: without the block of thoughts that some servers leave at the beginning, and without the mark of
/// a colleague, which models take up where they read it before each of their own words.
fn words_of(text: &str) -> &str {
    let mut words = thoughts::without(text);
    while let Some(rest) = words.trim_start().strip_prefix(COLLEAGUE_MARK) {
        words = rest.trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Result<Written, Failure> {
        let mut assembly = Assembly { text: text.to_owned(), ..Assembly::default() };
        assembly.end();
        assembly.finish()
    }

    #[test]
    fn thoughts_at_the_beginning_are_left_out_as_they_come() {
        let mut assembly = Assembly::default();
        let mut shown = Vec::new();
        for piece in
            ["\n<th", "ink>They ask ", "for hours.</thi", "nk>\n\nWe open", " at <think>nine</think>."]
        {
            assembly.text.push_str(piece);
            shown.push(assembly.so_far().to_owned());
        }
        assert_eq!(shown, ["", "", "", "We open", "We open at <think>nine</think>."]);
        assembly.end();
        assert_eq!(assembly.finish().expect("an answer").text, "We open at <think>nine</think>.");
    }

    #[test]
    fn who_watches_sees_nothing_of_a_second_block_either() {
        let mut assembly = Assembly::default();
        let mut shown = Vec::new();
        for piece in ["<think></think>", "\n<THI", "NK>secret", "</think>", "We open"] {
            assembly.text.push_str(piece);
            shown.push(assembly.so_far().to_owned());
        }
        assert_eq!(shown, ["", "", "", "", "We open"]);
    }

    #[test]
    fn what_no_answer_can_cost_is_not_believed() {
        let mut assembly = Assembly::default();
        assembly.count(Some(i64::MAX), Some(-1));
        assert_eq!((assembly.input_tokens, assembly.output_tokens), (1_000_000_000, 0));
        assembly.count(None, Some(i64::MAX));
        assert_eq!((assembly.input_tokens, assembly.output_tokens), (1_000_000_000, 1_000_000_000));
    }

    #[test]
    fn what_failed_has_cost_something_too() {
        let counted = |end: fn(&mut Assembly)| {
            let mut assembly = Assembly { input_tokens: 10, output_tokens: 4, ..Assembly::default() };
            end(&mut assembly);
            let failure = assembly.finish().expect_err("a failure");
            (failure.kind, failure.input_tokens, failure.output_tokens)
        };
        assert_eq!(counted(|_| {}), (FailureKind::Cut, 10, 4));
        assert_eq!(counted(Assembly::end), (FailureKind::Empty, 10, 4));
        assert_eq!(counted(Assembly::filter), (FailureKind::Filtered, 10, 4));
        let in_words = |assembly: &mut Assembly| {
            assembly.text = "<tool_call>".into();
            assembly.end();
        };
        assert_eq!(counted(in_words), (FailureKind::Malformed, 10, 4));
    }

    #[test]
    fn thoughts_alone_are_nothing_and_a_tag_begun_is_text() {
        assert_eq!(written("<think>Hmm, hmm, hmm").expect_err("a failure").kind, FailureKind::Empty);
        assert_eq!(written("<th").expect("an answer").text, "<th");
    }

    #[test]
    fn the_contact_reads_neither_thoughts_that_the_server_began_nor_a_mark_that_the_model_has_learnt() {
        for (text, read) in [
            ("They ask for hours.\n</think>\n\nWe open at nine.", "We open at nine."),
            ("We write <think>so</think> here.", "We write <think>so</think> here."),
            ("[Written by a human colleague] We open at nine.", "We open at nine."),
            ("[Written by a human colleague]\n[Written by a human colleague] Yes.", "Yes."),
            ("Yes. [Written by a human colleague]", "Yes. [Written by a human colleague]"),
            ("[THINK]They ask for hours.[/THINK]We open at nine.", "We open at nine."),
            ("They ask for hours.[/THINK]We open at nine.", "We open at nine."),
            ("We write [THINK]so[/THINK] here.", "We write [THINK]so[/THINK] here."),
        ] {
            assert_eq!(written(text).expect("an answer").text, read, "{text}");
        }
        let marked = written("[Written by a human colleague]").expect_err("a failure");
        assert_eq!(marked.kind, FailureKind::Empty);
    }

    #[test]
    fn nothing_of_the_other_side_is_said_and_no_mark_hides_a_call() {
        let imagined = "We open at nine.<|im_end|>\n<|im_start|>user\nThanks";
        assert_eq!(written(imagined).expect("an answer").text, "We open at nine.");
        let so_far = Assembly { text: imagined.to_owned(), ..Assembly::default() };
        assert_eq!(so_far.so_far(), "We open at nine.");
        assert_eq!(written("<|im_end|>").expect_err("a failure").kind, FailureKind::Empty);
        for called in ["One moment.<|im_end|><tool_call>{}", "<|channel|>final<|message|>Yes.<|end|>"] {
            assert_eq!(written(called).expect_err("a failure").kind, FailureKind::Malformed, "{called}");
        }
    }

    #[test]
    fn a_call_in_words_is_no_answer_and_neither_is_what_cannot_be_seen() {
        for called in [
            "<tool_call>\n{\"name\": \"hand_over\"}\n</tool_call>",
            "One moment.\n<tool_call>{}</tool_call>",
            "<function=hand_over>{}</function>",
            "[TOOL_CALLS][{\"name\": \"hand_over\"}]",
            "<minimax:tool_call>\n<invoke name=\"hand_over\">",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>hand_over",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.hand_over:0",
            "<|channel|>commentary to=functions.hand_over<|message|>{}",
            "assistantcommentary to=functions.hand_over json{}",
        ] {
            assert_eq!(written(called).expect_err("a failure").kind, FailureKind::Malformed, "{called}");
        }
        assert_eq!(written("\u{200b}\u{2060} \n").expect_err("a failure").kind, FailureKind::Empty);
        assert_eq!(written("<3 it is a <tool>").expect("an answer").text, "<3 it is a <tool>");
    }
}
