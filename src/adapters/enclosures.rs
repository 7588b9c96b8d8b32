//! Files that people send, for both databases.

use async_trait::async_trait;
use bytes::Bytes;
use uuid::Uuid;

use super::{
    failure, purge,
    rows::Columns as _,
    sql::{Statement, Store, cell},
};
use crate::{
    domain::time::Time,
    flow::{ledger::Error, media::enclosures::Enclosures},
};

#[async_trait]
impl<S: Store> Enclosures for S {
    async fn enclose(&self, message: Uuid, bytes: Bytes) -> Result<(), Error> {
        let mut statement = Statement::new("insert into enclosures (id, bytes, at) values (");
        statement.bind(message).push(", ").bind(Some(bytes.to_vec())).push(", ").now(self);
        statement.push(") on conflict (id) do nothing");
        self.write(statement).await.map(drop)
    }

    async fn enclosed(&self, message: Uuid) -> Result<Option<Bytes>, Error> {
        let statement = Statement::new("select e.bytes from enclosures e where e.id = $1").with(message);
        let Some(row) = self.row(statement).await? else { return Ok(None) };
        Ok(row.bytes("bytes").map_err(failure)?.map(Bytes::from))
    }

    async fn enclosed_size(&self, message: Uuid) -> Result<Option<u64>, Error> {
        let statement = Statement::new(
            "select cast(length(e.bytes) as bigint) as size from enclosures e where e.id = $1",
        );
        let Some(row) = self.row(statement.with(message)).await? else { return Ok(None) };
        Ok(u64::try_from(cell::<i64, _>(&row, "size")?).ok())
    }

    async fn enclosed_piece(&self, message: Uuid, from: u64, length: usize) -> Result<Option<Bytes>, Error> {
        let statement = Statement::new(
            "select substr(e.bytes, cast($2 as integer), cast($3 as integer)) as piece from enclosures e \
             where e.id = $1",
        );
        // The first byte has the number 1.
        let first = i64::try_from(from).ok().and_then(|from| from.checked_add(1)).unwrap_or(i64::MAX);
        let Some(row) = self.row(statement.with(message).with(first).with(length)).await? else {
            return Ok(None);
        };
        Ok(row.bytes("piece").map_err(failure)?.map(Bytes::from))
    }

    async fn let_go_of(&self, message: Uuid) -> Result<(), Error> {
        self.write(Statement::new("delete from enclosures where id = $1").with(message)).await.map(drop)
    }

    async fn forget_loose(&self, before: Time) -> Result<u64, Error> {
        let is_loose = "r.at < $1 and not exists (select 1 from messages m where m.id = r.id)";
        purge::remove(self, "enclosures", is_loose, before).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        adapters::test_stores::{NOW, TestStore, begun, from_contact, on_both_stores},
        domain::docket::Docket,
        flow::ledger::{Key, Need, change},
    };

    on_both_stores!(a_file_is_kept_as_it_is, what_no_message_carries_is_forgotten_after_a_while,);

    async fn a_file_is_kept_as_it_is<S: TestStore>(store: &S) {
        let (id, other) = (Uuid::now_v7(), Uuid::now_v7());
        let bytes: Vec<u8> = (0..=255).cycle().take(3 * 1024 * 1024).collect();
        store.enclose(id, Bytes::from(bytes.clone())).await.expect("written");
        store.enclose(id, Bytes::from_static(b"another")).await.expect("written");
        assert_eq!(store.enclosed(id).await.expect("read"), Some(Bytes::from(bytes)), "the first is the one");
        assert_eq!(store.enclosed(other).await.expect("read"), None);
        assert_eq!(store.enclosed_size(id).await.expect("read"), Some(3 * 1024 * 1024));
        assert_eq!(store.enclosed_size(other).await.expect("read"), None);
        let piece = async |from, length| store.enclosed_piece(id, from, length).await.expect("read");
        assert_eq!(piece(1, 3).await.as_deref(), Some(&[1, 2, 3][..]));
        assert_eq!(piece(0, 2).await.as_deref(), Some(&[0, 1][..]));
        assert_eq!(piece(3 * 1024 * 1024 - 2, 9).await.as_deref(), Some(&[254, 255][..]), "what is left");
        assert_eq!(store.enclosed_piece(other, 0, 1).await.expect("read"), None);
        store.let_go_of(id).await.expect("written");
        assert_eq!(store.enclosed(id).await.expect("read"), None);
    }

    async fn what_no_message_carries_is_forgotten_after_a_while<S: TestStore>(store: &S) {
        let conversation = begun("shop", "6580000001@c.us");
        store.keep_conversation(&conversation).await;
        let (carried, loose) = (Uuid::now_v7(), Uuid::now_v7());
        let carry = move |docket: &mut Docket| {
            docket.push(crate::domain::message::Message { id: carried, ..from_contact(0, "Hello", NOW) })
        };
        let ledger = TestStore::ledger(store);
        change(ledger.as_ref(), Key::Id(conversation.id), Need::default(), carry).await.expect("committed");
        for id in [carried, loose] {
            store.enclose(id, Bytes::from_static(b"a file")).await.expect("written");
        }
        assert_eq!(store.forget_loose(Time(0)).await.expect("written"), 0, "it may still be sent");
        assert_eq!(store.forget_loose(Time(i64::MAX)).await.expect("written"), 1);
        assert!(store.enclosed(carried).await.expect("read").is_some());
        assert_eq!(store.enclosed(loose).await.expect("read"), None);
    }
}
