//! Rule: which part of a file is wanted (RFC 9110, 14.1.2), one at a time.

use std::fmt;

/// A part, as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// From that byte on, to the end or to that one.
    From(u64, Option<u64>),
    /// The last bytes, this many.
    Last(u64),
}

impl Range {
    /// Reads a `Range` header. None: it asks for several parts, or for nothing that is known, and the whole is the answer.
    pub fn parse(header: &str) -> Option<Self> {
        let (first, last) = header.trim().strip_prefix("bytes=")?.split_once('-')?;
        let number =
            |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        match (first, last) {
            ("", last) => number(last).map(Self::Last),
            (first, "") => Some(Self::From(number(first)?, None)),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(Self::From(first, Some(last)))
            }
        }
    }

    /// Its first and last byte in a file of that size; None: it has no such part.
    pub fn of(self, size: u64) -> Option<(u64, u64)> {
        let end = size.checked_sub(1)?;
        match self {
            Self::From(first, last) => (first <= end).then(|| (first, last.unwrap_or(end).min(end))),
            Self::Last(0) => None,
            Self::Last(bytes) => Some((size.saturating_sub(bytes), end)),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::From(first, None) => write!(f, "bytes={first}-"),
            Self::From(first, Some(last)) => write!(f, "bytes={first}-{last}"),
            Self::Last(bytes) => write!(f, "bytes=-{bytes}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_is_read_and_everything_else_is_the_whole() {
        #[rustfmt::skip]
        let table = [
            ("bytes=0-",     Some(Range::From(0, None)),      Some((0, 9))),
            ("bytes=3-5",    Some(Range::From(3, Some(5))),   Some((3, 5))),
            ("bytes=3-99",   Some(Range::From(3, Some(99))),  Some((3, 9))),
            ("bytes=10-",    Some(Range::From(10, None)),     None),
            ("bytes=-4",     Some(Range::Last(4)),            Some((6, 9))),
            ("bytes=-99",    Some(Range::Last(99)),           Some((0, 9))),
            ("bytes=-0",     Some(Range::Last(0)),            None),
            ("bytes=5-3",    None,                            None),
            ("bytes=0-1,4-", None,                            None),
            ("bytes=+1-2",   None,                            None),
            ("bytes=-",      None,                            None),
            ("items=0-1",    None,                            None),
            ("bytes=99999999999999999999-", None,             None),
        ];
        for (header, range, of_ten) in table {
            assert_eq!(Range::parse(header), range, "{header}");
            assert_eq!(range.and_then(|range| range.of(10)), of_ten, "{header}");
            if let Some(range) = range {
                assert_eq!(range.to_string(), header);
            }
        }
        assert_eq!(Range::From(0, None).of(0), None, "an empty file has no part");
    }
}
