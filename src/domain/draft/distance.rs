//! How far a text was changed, in words: a person who edits thinks in words, and a text has far fewer words than letters.
//!
//! In: what was written and what was sent. Out: how many words were taken out, put in or replaced (Levenshtein).

use unicode_segmentation::UnicodeSegmentation as _;

/// Number of words compared in longer texts, once what both begin and end with is left out: the time for it grows with the
/// square, and it is spent while the conversation is locked. What comes after them counts as changed.
const COMPARED_MAX: usize = 1_000;

/// How many words lie between the two. Words are cut as Unicode does (UAX 29), so that this means something in scripts
/// without spaces too; a mark of punctuation is a word, white space is none.
pub fn words_apart(written: &str, sent: &str) -> i64 {
    let (written, sent) = (words_of(written), words_of(sent));
    let (written, sent) = without_what_both_have(&written, &sent);
    let (first, more) = written.split_at(written.len().min(COMPARED_MAX));
    let (second, more_too) = sent.split_at(sent.len().min(COMPARED_MAX));
    let apart = levenshtein(first, second) + more.len().max(more_too.len());
    i64::try_from(apart).unwrap_or(i64::MAX)
}

fn words_of(text: &str) -> Vec<&str> {
    text.split_word_bounds().filter(|word| !word.trim().is_empty()).collect()
}

/// The middles that differ.
fn without_what_both_have<'a, 'b>(
    one: &'a [&'a str],
    other: &'b [&'b str],
) -> (&'a [&'a str], &'b [&'b str]) {
    let before = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let (one, other) = (&one[before..], &other[before..]);
    let after = one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count();
    (&one[..one.len() - after], &other[..other.len() - after])
}

fn levenshtein(one: &[&str], other: &[&str]) -> usize {
    // How far the words of `one` so far are from each beginning of `other`.
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (taken, word) in (1..).zip(one) {
        let mut before = std::mem::replace(&mut row[0], taken);
        for (at, other) in other.iter().enumerate() {
            let replaced = before + usize::from(word != other);
            before = row[at + 1];
            row[at + 1] = replaced.min(row[at] + 1).min(before + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_that_are_taken_out_put_in_or_replaced_count() {
        #[rustfmt::skip]
        let table = [
            // written                      sent                                 apart
            ("Yes, we are open.",           "Yes, we are open.",                 0),
            ("Yes, we are open.",           "  Yes,  we are\nopen. ",            0),
            ("Yes, we are open.",           "No, we are open.",                  1),
            ("Yes, we are open.",           "Yes, we are open today.",           1),
            ("Yes, we are open.",           "Yes we are open!",                  2),
            ("We open at nine.",            "At nine we open.",                  4),
            ("Two condos.",                 "",                                  3),
            ("",                            "Hello",                             1),
            ("",                            " \n",                               0),
            ("我们九点开门。",              "我们十点开门。",                    1),
            ("See you 👍🏽",                  "See you",                           1),
        ];
        for (written, sent, apart) in table {
            assert_eq!(words_apart(written, sent), apart, "{written:?}, {sent:?}");
            assert_eq!(words_apart(sent, written), apart, "{sent:?}, {written:?}");
        }
    }

    #[test]
    fn what_is_too_long_to_be_compared_counts_as_changed() {
        let text = |word: &str, count: usize| vec![word; count].join(" ");
        let long = COMPARED_MAX + 200;
        assert_eq!(words_apart(&text("a", long), &text("b", long)), 1_200);
        assert_eq!(
            words_apart(&text("a", long), &text("a", long - 5)),
            5,
            "what both have is left out first"
        );
        assert_eq!(words_apart(&text("a", long), ""), 1_200);
    }

    proptest! {
        #[test]
        fn it_is_no_more_than_the_longer_text_and_no_less_than_what_one_has_more(
            one in "[ab ]{0,40}", other in "[ab ]{0,40}",
        ) {
            let (length, other_length) = (words_of(&one).len(), words_of(&other).len());
            let apart = usize::try_from(words_apart(&one, &other)).expect("no less than none");
            prop_assert!(apart >= length.abs_diff(other_length) && apart <= length.max(other_length));
        }

        #[test]
        fn a_detour_is_never_shorter(one in "[ab ]{0,30}", by in "[ab ]{0,30}", other in "[ab ]{0,30}") {
            prop_assert!(words_apart(&one, &other) <= words_apart(&one, &by) + words_apart(&by, &other));
        }
    }
}
