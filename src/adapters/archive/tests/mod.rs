//! One suite for the archive, run on both stores.

mod conversations;

mod search;

mod messages;

mod lists;

mod events;

mod feed;

mod steps;

mod statistics;

mod statements;

use crate::flow::{
    archive::{Page, PageOf},
    ledger::Error,
};

/// The first page.
fn first(limit: usize) -> PageOf {
    PageOf { limit, cursor: None }
}

/// The page at that cursor.
fn at(cursor: &str) -> PageOf {
    PageOf { limit: 10, cursor: Some(cursor.to_owned()) }
}

/// Goes through all pages of two rows each.
async fn all_pages<T>(list: impl AsyncFn(PageOf) -> Result<Page<T>, Error>) -> Vec<T> {
    let mut found = Vec::new();
    let mut page = first(2);
    loop {
        let Page { items, next } = list(page).await.expect("a page");
        assert!(items.len() <= 2, "no page has more than was asked for");
        assert!(next.is_none() || items.len() == 2, "only the last page may be short");
        found.extend(items);
        match next {
            Some(cursor) => page = PageOf { limit: 2, cursor: Some(cursor) },
            None => return found,
        }
    }
}
