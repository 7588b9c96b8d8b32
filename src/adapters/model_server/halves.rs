//! Letters of two halves: JSON writes an emoji as two escapes, and servers that cut their text by UTF-16 units put the one into
//! one event and the other into the next, where no half is a letter and the whole event cannot be read.
//!
//! In: the data of an event, and the half that was left over before. Out: the same with whole letters only.

use std::borrow::Cow;

/// The length of `\ud83d`.
const ESCAPE: usize = 6;

/// The data with whole letters only. A first half without its second is kept for what comes next; any other half is left out.
pub(super) fn whole<'a>(data: &'a str, half: &mut Option<String>) -> Cow<'a, str> {
    let mut out = String::new();
    // What was copied ends here, and what is looked at begins there.
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = data[at..].find('\\') {
        at += found;
        let (first, second) = (unit(data, at), unit(data, at + ESCAPE));
        let keeps = match first {
            Some(0xd800..=0xdbff) if matches!(second, Some(0xdc00..=0xdfff)) => {
                at += 2 * ESCAPE;
                continue;
            }
            Some(0xd800..=0xdbff) => {
                *half = Some(data[at..at + ESCAPE].to_owned());
                String::new()
            }
            Some(0xdc00..=0xdfff) => {
                let escape = &data[at..at + ESCAPE];
                half.take().map_or_else(String::new, |half| half + escape)
            }
            // Another escape, or a backslash that is one itself.
            Some(_) | None => {
                at += data[at..].chars().take(2).map(char::len_utf8).sum::<usize>();
                continue;
            }
        };
        out.push_str(&data[copied..at]);
        out.push_str(&keeps);
        at += ESCAPE;
        copied = at;
    }
    if copied == 0 { Cow::Borrowed(data) } else { Cow::Owned(out + &data[copied..]) }
}

/// The UTF-16 unit that is escaped there.
fn unit(data: &str, at: usize) -> Option<u16> {
    let digits = data.get(at..at + ESCAPE)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_in_two_events_is_put_together_and_what_is_whole_is_left_alone() {
        let table: [(&[&str], &[&str]); 8] = [
            (&[r#"{"a":"Hi"}"#], &[r#"{"a":"Hi"}"#]),
            (&[r#""\ud83d\ude00""#], &[r#""\ud83d\ude00""#]),
            (&[r#""Hi \ud83d""#, r#""\uDE00 you""#], &[r#""Hi ""#, r#""\ud83d\uDE00 you""#]),
            (&[r#""\uD83D""#, r#""""#, r#""\ude00""#], &[r#""""#, r#""""#, r#""\uD83D\ude00""#]),
            (&[r#""\ude00 you""#], &[r#"" you""#]),
            (&[r#""\ud83d\ud83d\ude00""#], &[r#""\ud83d\ude00""#]),
            (&[r#""\\ud83d \n\u00e9\""#], &[r#""\\ud83d \n\u00e9\""#]),
            (&[r"\", r"\u", r"\ud83", r"\ü"], &[r"\", r"\u", r"\ud83", r"\ü"]),
        ];
        for (events, expected) in table {
            let mut half = None;
            let read: Vec<_> = events.iter().map(|data| whole(data, &mut half)).collect();
            assert_eq!(read, expected, "{events:?}");
        }
    }
}
