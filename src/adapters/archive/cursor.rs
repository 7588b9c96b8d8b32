//! Cursors: where a page ended, as text that says nothing to others and is refused unless it was made here.

use std::{fmt::Display, str::FromStr};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::flow::{
    archive::{Page, PageOf},
    ledger::Error,
};

/// Most rows of a page.
const ROWS_MAX: usize = 200;

/// Longest cursor looked at: real ones have fewer than a hundred characters, and those with a word a few hundred.
const CURSOR_MAX: usize = 1_024;

/// Number of rows, from 1 to 200.
pub(in crate::adapters) fn rows(page: &PageOf) -> usize {
    page.limit.clamp(1, ROWS_MAX)
}

/// How many rows to ask the database for: one more than the page, to know whether there is a next one.
pub(in crate::adapters) fn rows_asked(page: &PageOf) -> i64 {
    i64::try_from(rows(page)).unwrap_or(i64::MAX - 1) + 1
}

/// Where the list named `list` continues: its sort key and the id that breaks ties.
pub(in crate::adapters) fn write(list: &str, key: impl Display, id: impl Display) -> String {
    URL_SAFE_NO_PAD.encode(format!("{list} {key} {id}"))
}

/// Reads the cursor of the page asked for, if it has one. Refuses one of another list.
pub(in crate::adapters) fn read<Id: FromStr>(list: &str, page: &PageOf) -> Result<Option<(i64, Id)>, Error> {
    read_by(list, page)
}

/// The same of a list that is sorted by a word, in which there is no white space.
pub(in crate::adapters) fn read_words<Id: FromStr>(
    list: &str,
    page: &PageOf,
) -> Result<Option<(String, Id)>, Error> {
    read_by(list, page)
}

fn read_by<Key: FromStr, Id: FromStr>(list: &str, page: &PageOf) -> Result<Option<(Key, Id)>, Error> {
    let Some(cursor) = &page.cursor else { return Ok(None) };
    decode(list, cursor).map(Some).ok_or(Error::NotACursor)
}

fn decode<Key: FromStr, Id: FromStr>(list: &str, cursor: &str) -> Option<(Key, Id)> {
    if cursor.len() > CURSOR_MAX {
        return None;
    }
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let mut parts = text.split(' ');
    let (name, key, id, end) = (parts.next()?, parts.next()?, parts.next()?, parts.next());
    (name == list && end.is_none()).then_some(())?;
    Some((key.parse().ok()?, id.parse().ok()?))
}

/// Makes a page of the rows read: cuts off the one too many, and says where the next page begins.
pub(in crate::adapters) fn cut<T>(
    mut items: Vec<T>,
    page: &PageOf,
    cursor_of: impl Fn(&T) -> String,
) -> Page<T> {
    let more = items.len() > rows(page);
    items.truncate(rows(page));
    let next = if more { items.last().map(cursor_of) } else { None };
    Page { items, next }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn page(cursor: &str) -> PageOf {
        PageOf { limit: 2, cursor: Some(cursor.to_owned()) }
    }

    #[test]
    fn a_cursor_is_read_back_by_its_own_list_alone() {
        let id = Uuid::now_v7();
        let cursor = write("turns", -5, id);
        assert_eq!(read("turns", &page(&cursor)).expect("made here"), Some((-5, id)));
        assert!(matches!(read::<Uuid>("letters", &page(&cursor)), Err(Error::NotACursor)));
    }

    #[test]
    fn nonsense_is_refused_and_never_panics() {
        let encoded = |text: &str| URL_SAFE_NO_PAD.encode(text);
        for cursor in [
            String::new(),
            "%%%".to_owned(),
            "ü".to_owned(),
            URL_SAFE_NO_PAD.encode([0xff, 0xfe]),
            encoded("turns"),
            encoded("turns 1"),
            encoded("turns 1 not-a-uuid"),
            encoded("turns x 01920000-0000-7000-8000-000000000000"),
            encoded("turns 99999999999999999999 01920000-0000-7000-8000-000000000000"),
            encoded("turns 1 01920000-0000-7000-8000-000000000000 more"),
            "A".repeat(10_000),
        ] {
            assert!(matches!(read::<Uuid>("turns", &page(&cursor)), Err(Error::NotACursor)), "{cursor:.40}");
        }
    }

    #[test]
    fn the_last_page_has_no_next() {
        let of = |n: usize| cut((0..n).collect::<Vec<_>>(), &page(""), |n| n.to_string());
        assert_eq!((of(2).items.len(), of(2).next), (2, None));
        assert_eq!((of(3).items.len(), of(3).next), (2, Some("1".to_owned())));
    }
}
