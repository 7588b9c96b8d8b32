//! A reply as a person would send it: in parts of a readable length, each after the time it takes to type.
//!
//! In: the text of a reply, the policy. Out: its parts, and the delay before each. The dice are the caller's.

mod gaps;

use unicode_segmentation::UnicodeSegmentation;

use super::{policy::Policy, retry::share};
use gaps::{Atoms, Gap, Rank};

/// A delay above this is shown as typing.
const SHOWN_FROM_MS: i64 = 700;

/// Cuts a reply into parts of at most `limit` UTF-16 units, in order, none of them blank.
///
/// A reply of more than `split_chars` units (0: never) is also parted at paragraphs, lines and sentences, into at most
/// `split_parts` messages of about the same length. The limit counts more: where it asks for more parts, there are more.
/// White space at the cuts is dropped. No character is cut, as a reader sees it, unless it alone is above the limit.
pub fn split(text: &str, split_chars: usize, split_parts: usize, limit: usize) -> Vec<String> {
    // A character takes up to two units: less is no limit that could be kept.
    let mut sheet = Sheet::of(text, split_chars, split_parts.max(1), limit.max(2));
    std::iter::from_fn(|| sheet.tear_off()).map(str::to_owned).collect()
}

/// Delay before a part: how long a person would type it, less what the contact has waited already. `jitter` in
/// 0.0 to 1.0 is drawn by the caller.
pub fn typing_ms(policy: &Policy, text: &str, jitter: f64, already_waited_ms: i64) -> i64 {
    let characters = i64::try_from(text.graphemes(true).count()).unwrap_or(i64::MAX);
    let typing_ms = characters.saturating_mul(policy.typing_ms_per_char);
    let hesitation_ms = share(policy.typing_jitter_ms, jitter);
    let delay_ms = typing_ms.saturating_add(hesitation_ms).min(policy.typing_max_ms);
    delay_ms.saturating_sub(already_waited_ms.max(0)).max(0)
}

/// Whether a typing indicator is shown for such a delay: for a shorter one it would only flicker.
pub const fn shows_typing(delay_ms: i64) -> bool {
    delay_ms > SHOWN_FROM_MS
}

/// A text from which parts are torn off, front to back. Places are numbers of atoms.
struct Sheet<'t> {
    atoms: Atoms<'t>,
    gaps: Vec<Gap>,
    /// Where the rest begins.
    from: usize,
    /// Where the text ends, less white space.
    to: usize,
    split_chars: usize,
    limit: usize,
    /// Parts that may still be torn off.
    parts_left: usize,
    /// Place `n` is the first from which `n` parts are enough.
    enough: Vec<usize>,
}

impl<'t> Sheet<'t> {
    fn of(text: &'t str, split_chars: usize, split_parts: usize, limit: usize) -> Self {
        let atoms = Atoms::of(text, limit);
        let inked = |n: &usize| !atoms.is_blank(*n);
        let from = (0..atoms.len()).find(inked).unwrap_or(atoms.len());
        let to = (from..atoms.len()).rev().find(inked).map_or(from, |last| last + 1);
        let gaps = atoms.gaps();
        let mut enough = vec![to];
        for n in 0..split_parts {
            let units = atoms.units_before(enough[n]).saturating_sub(limit);
            enough.push(atoms.first_from(units));
            if units == 0 {
                break;
            }
        }
        Self { atoms, gaps, from, to, split_chars, limit, parts_left: split_parts, enough }
    }

    /// The next part.
    fn tear_off(&mut self) -> Option<&'t str> {
        if self.from >= self.to {
            return None;
        }
        let rest = Gap { end: self.to, next: self.to, rank: Rank::Paragraph };
        let cut = match self.soft_cut() {
            Some(cut) => cut,
            None if self.length(self.from, self.to) <= self.limit => rest,
            None => self.hard_cut(),
        };
        let part = self.atoms.slice(self.from, cut.end);
        self.from = cut.next;
        self.parts_left = self.parts_left.saturating_sub(1);
        Some(part)
    }

    /// Where a person would part a long text: at the best place near an equal share of what is left.
    fn soft_cut(&self) -> Option<Gap> {
        let rest = self.length(self.from, self.to);
        if self.split_chars == 0 || rest <= self.split_chars || self.parts_left < 2 {
            return None;
        }
        let wanted = rest.div_ceil(self.parts_left.min(rest.div_ceil(self.split_chars)));
        let good = || self.gaps_within_limit().filter(|gap| gap.rank >= Rank::Sentence);
        let length = |gap: &Gap| self.length(self.from, gap.end);
        let near = good().filter(|gap| (wanted.div_ceil(2)..=wanted + wanted / 2).contains(&length(gap)));
        let best = near.max_by_key(|gap| (gap.rank, std::cmp::Reverse(length(gap).abs_diff(wanted))));
        best.or_else(|| good().find(|gap| length(gap) > wanted))
    }

    /// Where to part what is above the limit: as late as possible, and rather between sentences than within one, before
    /// a block or a link than within it, between words than within one, and within a word if need be.
    fn hard_cut(&self) -> Gap {
        let full = |gap: &Gap| self.length(self.from, gap.end) >= self.limit / 2;
        let best_full = self.gaps_within_limit().filter(full).max_by_key(|gap| (gap.rank, gap.end));
        match best_full {
            Some(gap) if gap.rank >= Rank::Sentence => Some(gap),
            Some(gap) => self.last_gap_that_saves(Rank::Sentence).or(Some(gap)),
            None => self.last_gap_that_saves(Rank::Word),
        }
        .unwrap_or_else(|| self.cut_anywhere())
    }

    /// The last place within the limit.
    fn cut_anywhere(&self) -> Gap {
        let at = self.atoms.last_within(self.atoms.units_before(self.from) + self.limit);
        let end = (self.from + 1..=at).rev().find(|n| !self.atoms.is_blank(n - 1)).unwrap_or(at);
        let next = (at..self.to).find(|n| !self.atoms.is_blank(*n)).unwrap_or(self.to);
        Gap { end, next, rank: Rank::Word }
    }

    /// The last gap of at least that rank after which all is within the limit up to the next such gap: what lies between
    /// the two can stay whole.
    fn last_gap_that_saves(&self, rank: Rank) -> Option<Gap> {
        let saves = |gap: &Gap| {
            let later = self.gaps.partition_point(|other| other.end <= gap.next);
            let next = self.gaps[later..].iter().find(|other| other.rank >= rank);
            self.length(gap.next, next.map_or(self.to, |next| next.end)) <= self.limit
        };
        self.gaps_within_limit().filter(|gap| gap.rank >= rank).filter(saves).last()
    }

    /// The gaps at which the next part may end: within the limit, and not so early that what follows needs more parts
    /// than are left, if these can be enough.
    fn gaps_within_limit(&self) -> impl Iterator<Item = Gap> + '_ {
        let enough = |parts: usize| self.enough.get(parts).copied().unwrap_or(0);
        let can_be_enough = self.parts_left > 0 && self.from >= enough(self.parts_left);
        let earliest = if can_be_enough { enough(self.parts_left - 1) } else { 0 };
        let begin = self.gaps.partition_point(|gap| gap.end <= self.from);
        self.gaps[begin..]
            .iter()
            .copied()
            .take_while(|gap| self.length(self.from, gap.end) <= self.limit)
            .filter(move |gap| gap.next >= earliest)
    }

    /// UTF-16 units from one place to another.
    fn length(&self, from: usize, to: usize) -> usize {
        self.atoms.units_before(to) - self.atoms.units_before(from)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{gaps::utf16_len, *};

    const FAMILY: &str = "👩\u{200d}👩\u{200d}👧\u{200d}👦";

    fn without_space(text: &str) -> String {
        text.chars().filter(|c| !c.is_whitespace()).collect()
    }

    #[test]
    fn a_short_reply_stays_whole_and_a_blank_one_is_none() {
        for (text, parts) in [
            ("", vec![]),
            (" \n\t ", vec![]),
            ("Hello.", vec!["Hello."]),
            ("  Hello.\n\nHow are you?\n", vec!["Hello.\n\nHow are you?"]),
        ] {
            assert_eq!(split(text, 600, 4, 4_096), parts, "{text:?}");
        }
    }

    #[test]
    fn a_long_reply_is_parted_where_a_person_would() {
        for (text, parts) in [
            // A paragraph is better than a line, a line better than a sentence.
            ("One two. Three.\nFour five.\n\nSix seven.", vec!["One two. Three.\nFour five.", "Six seven."]),
            ("One two. Four five.\nSix seven eight.", vec!["One two. Four five.", "Six seven eight."]),
            (
                "One two three four. Five six seven eight.",
                vec!["One two three four.", "Five six seven eight."],
            ),
            (
                "今天我们的店铺开门。明天店铺休息！后天见？",
                vec!["今天我们的店铺开门。", "明天店铺休息！后天见？"],
            ),
            // Nowhere to part: a person would not do it in the middle of a sentence.
            ("one two three four five six seven eight", vec!["one two three four five six seven eight"]),
            // A list stays in one piece, with the line before it.
            (
                "We have two of them.\n\nColours:\n- red\n- green\n- blue\n\nWhich one?",
                vec!["We have two of them.", "Colours:\n- red\n- green\n- blue", "Which one?"],
            ),
            (
                "Run this.\n```\nmake all\n\nmake test\n```\nThen tell me.",
                vec!["Run this.", "```\nmake all\n\nmake test\n```", "Then tell me."],
            ),
        ] {
            assert_eq!(split(text, 20, 4, 4_096), parts, "{text:?}");
        }
    }

    #[test]
    fn a_reply_has_no_more_parts_than_wanted_unless_the_limit_asks_for_them() {
        let text = "This is a sentence. ".repeat(60);
        assert_eq!(split(&text, 100, 4, 4_096).len(), 4);
        assert_eq!(split(&text, 100, 1, 4_096).len(), 1);
        assert_eq!(split(&text, 100, 0, 4_096).len(), 1, "no parts at all is no choice");
        assert_eq!(split(&text, 0, 4, 4_096).len(), 1, "never split");
        assert!(split(&text, 100, 4, 200).len() > 4);
    }

    #[test]
    fn what_is_above_the_limit_is_cut_between_words_and_not_within_a_link() {
        for (text, limit, parts) in [
            ("one two three four", 9, vec!["one two", "three", "four"]),
            ("abcdefghijklmnop", 9, vec!["abcdefghi", "jklmnop"]),
            ("see https://example.org/a/b now", 24, vec!["see", "https://example.org/a/b", "now"]),
            ("请看https://example.org/a谢谢你", 21, vec!["请看", "https://example.org/a", "谢谢你"]),
            ("1. one\n2. two\n3. three", 15, vec!["1. one\n2. two", "3. three"]),
            (
                "Yes, so.\n- one\n- two\n- three\n- four",
                30,
                vec!["Yes, so.", "- one\n- two\n- three\n- four"],
            ),
            ("aa\u{200b}                    bb", 4, vec!["aa\u{200b}", "bb"]),
        ] {
            assert_eq!(split(text, 0, 9, limit), parts, "{text:?}");
        }
    }

    #[test]
    fn words_are_cut_rather_than_more_parts_made_than_wanted() {
        let text = "aaa bbbbbbbbbb ccccc";
        assert_eq!(split(text, 0, 2, 10), ["aaa bbbbbb", "bbbb ccccc"]);
        assert_eq!(split(text, 0, 3, 10), ["aaa", "bbbbbbbbbb", "ccccc"]);
    }

    #[test]
    fn only_a_character_above_the_limit_is_taken_apart() {
        let accents = format!("a{}", "\u{301}".repeat(9));
        assert_eq!(split(&format!("{FAMILY}{FAMILY}"), 0, 4, 12), [FAMILY, FAMILY]);
        assert_eq!(split(&accents, 0, 4, 5).concat(), accents);
        assert_eq!(
            split("👍🏽", 0, 4, 0).concat(),
            "👍🏽",
            "a limit that nothing fits is taken for the least that does"
        );
    }

    #[test]
    fn a_long_reply_is_cut_only_between_characters() {
        // Case K39.
        let limit = 4_096;
        let mut text = String::new();
        while utf16_len(&text) < limit * 6 / 5 {
            text.push_str(&format!("One more thing {FAMILY} about the blue 👍🏽 bowls. "));
            if text.chars().count().is_multiple_of(7) {
                text.push('\n');
            }
        }
        while utf16_len(&text) < limit * 11 / 5 {
            text.push_str(FAMILY);
        }
        for split_chars in [0, 600] {
            let parts = split(&text, split_chars, 4, limit);
            assert_eq!(without_space(&parts.concat()), without_space(&text));
            assert!(parts.iter().all(|part| (1..=limit).contains(&utf16_len(part))));
            let families = |text: &str| text.matches(FAMILY).count();
            assert_eq!(parts.iter().map(|part| families(part)).sum::<usize>(), families(&text));
            assert!(parts.len() <= 4, "{} parts", parts.len());
        }
    }

    #[test]
    fn a_part_takes_as_long_as_a_person_would_need_less_what_was_waited() {
        let policy = Policy {
            typing_ms_per_char: 30,
            typing_jitter_ms: 500,
            typing_max_ms: 8_000,
            ..Policy::default()
        };
        let none =
            Policy { typing_ms_per_char: 0, typing_jitter_ms: 0, typing_max_ms: 0, ..Policy::default() };
        let (ten, long) = ("0123456789", "x".repeat(1_000));
        #[rustfmt::skip]
        let table = [
            // policy  text    jitter     waited   delay
            (&policy,  ten,    0.0,       0,       300),
            (&policy,  ten,    0.5,       0,       550),
            (&policy,  ten,    1.0,       0,       800),
            (&policy,  ten,    f64::NAN,  0,       300),
            (&policy,  ten,    0.0,       200,     100),
            (&policy,  ten,    0.0,       9_000,   0),
            (&policy,  ten,    0.0,       -50,     300),
            (&policy,  FAMILY, 0.0,       0,       30),
            (&policy,  &long,  1.0,       0,       8_000),
            (&policy,  &long,  1.0,       5_000,   3_000),
            (&none,    &long,  1.0,       0,       0),
        ];
        for (policy, text, jitter, waited, delay) in table {
            assert_eq!(typing_ms(policy, text, jitter, waited), delay, "{} after {waited}", text.len());
        }
        assert!(!shows_typing(700) && shows_typing(701));
    }

    /// Replies of all kinds: words, sentences, paragraphs, lists, links, code, scripts without spaces, joined emoji.
    fn reply() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            8 => r"[a-z]{1,12}",
            4 => Just(" ".to_owned()),
            2 => prop::sample::select(&[". ", "! ", "? ", "\n", "\r\n", "\n\n", "\n- ", "\n1. ", ":\n", "   "][..])
                .prop_map(str::to_owned),
            1 => prop::sample::select(&["```", "https://a.example/b?c=d#e", "\u{301}", "\u{200d}", "🇸🇬", "👍🏽", FAMILY][..])
                .prop_map(str::to_owned),
            1 => "[今天我们的店铺开门。！？，「」]{1,9}",
            1 => r"\PC{0,5}",
        ];
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    /// The fewest parts that hold a text, cut between characters, white space included.
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

    proptest! {
        #[test]
        fn parts_are_the_text_in_order_and_within_the_limit(
            text in reply(),
            split_chars in 0_usize..200,
            split_parts in 0_usize..6,
            limit in 2_usize..150,
        ) {
            let parts = split(&text, split_chars, split_parts, limit);
            prop_assert_eq!(without_space(&parts.concat()), without_space(&text));
            let boundaries: BTreeSet<usize> =
                text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
            let all_fit = text.graphemes(true).all(|cluster| utf16_len(cluster) <= limit);
            let mut at = 0;
            for part in &parts {
                prop_assert!(!part.trim().is_empty());
                prop_assert!(utf16_len(part) <= limit, "{:?}", part);
                let begin = at + text[at..].find(part.as_str()).expect("parts are pieces of the text, in order");
                at = begin + part.len();
                prop_assert!(!all_fit || (boundaries.contains(&begin) && boundaries.contains(&at)), "{:?}", part);
            }
            let wanted = split_parts.max(1);
            prop_assert!(
                parts.len() <= wanted || fewest(&text, limit) > wanted,
                "more parts than wanted: {parts:?}"
            );
        }

        #[test]
        fn there_are_no_more_parts_than_wanted_if_these_can_hold_the_text(
            text in r"([a-z]{1,30}[ .\n]{1,3}){1,60}",
            split_chars in 0_usize..200,
            split_parts in 1_usize..6,
            spare in 0_usize..5,
        ) {
            let limit = text.len().div_ceil(split_parts) + spare;
            let parts = split(&text, split_chars, split_parts, limit);
            prop_assert!(parts.len() <= split_parts, "{} parts: {parts:?}", parts.len());
        }
    }
}
