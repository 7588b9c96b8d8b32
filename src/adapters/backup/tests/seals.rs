//! What is sealed, in whichever table: changed, kept, or counted as lost.

use super::*;

on_both_stores!(
    everything_sealed_is_gone_through_and_changed_together,
    a_value_that_somebody_changed_meanwhile_stays_theirs
);

/// Bytes that are not sealed. Whatever is, must be called so: else a new key would leave it behind.
const PLAIN: &[(&str, &str)] = &[("enclosures", "bytes")];

#[tokio::test]
async fn every_column_of_bytes_is_called_sealed_or_is_plain() {
    let (lite, _folder) = test_stores::sqlite().await;
    let mut session = lite.reading().await.expect("a connection");
    for table in super::super::tables::tables(&mut session).await.expect("the catalogue") {
        for column in table.columns {
            let is_bytes = column.kind == super::super::tables::Kind::Bytes;
            let is_plain = PLAIN.contains(&(table.name, column.name.as_str()));
            assert_eq!(is_bytes && !is_plain, column.name == "sealed", "{}.{}", table.name, column.name);
        }
    }
}

async fn everything_sealed_is_gone_through_and_changed_together<D: Movable + TestStore>(store: &D) {
    fill(store).await;
    let mut seen = Vec::new();
    let told = reseal(store, |sealed| {
        seen.push(sealed.to_vec());
        match sealed {
            [1, 0, 255] => Resealed::Anew(vec![7]),
            _ => Resealed::Unopened,
        }
    });
    let channels = Seals { table: "channels", kept: 0, resealed: 1, unopened: 0 };
    let answers = Seals { table: "kept_answers", kept: 0, resealed: 0, unopened: 1 };
    let secrets = Seals { table: "endpoint_secrets", kept: 0, resealed: 0, unopened: 1 };
    let tombstones = Seals { table: "tombstone_keys", kept: 0, resealed: 0, unopened: 1 };
    assert_eq!(told.await.expect("gone through"), [channels, answers, secrets, tombstones]);
    assert_eq!(seen, [vec![1, 0, 255], vec![1, 2, 3], vec![4], vec![9]]);
    let held = held(&saved(store).await);
    assert!(held["channels"][0].contains(r#""sealed":"07""#), "{held:?}");
    assert!(held["kept_answers"][0].contains(r#""sealed":"010203""#), "{held:?}");
}

async fn a_value_that_somebody_changed_meanwhile_stays_theirs<D: Movable + TestStore>(store: &D) {
    fill(store).await;
    let mut session = store.writing().await.expect("a connection");
    let sql = super::super::seals::writing("channels", D::ENGINE);
    // It was read as something else than it is by now.
    let touched = session.run(sql, Some(r#"[["0100","07"]]"#.to_owned())).await.expect("run");
    assert_eq!(touched, 0);
}
