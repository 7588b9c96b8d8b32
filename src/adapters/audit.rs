//! Who has changed what of the installation, for both databases.

use async_trait::async_trait;
use serde_json::Value;

use super::{
    purge,
    rows::{Columns, Json},
    sql::{Statement, Store, cell},
};
use crate::{
    domain::time::Time,
    flow::{
        back_office::audit::{Audit, AuditFilter, Audited},
        ledger::Error,
    },
};

#[async_trait]
impl<S: Store> Audit for S {
    async fn note(&self, deed: &Audited) -> Result<(), Error> {
        let statement = Statement::new(
            "insert into audit (id, at, actor, deed, subject, details) values ($1, $2, $3, $4, $5, $6) \
             on conflict (id) do nothing",
        );
        let statement = statement.with(deed.id).with(deed.at).with(deed.actor.as_str());
        let statement = statement.with(deed.deed.as_str()).with(deed.subject.clone());
        let details = Value::from(deed.details.clone()).to_string();
        self.write(statement.with(details)).await.map(drop)
    }

    async fn audited(&self, filter: &AuditFilter, limit: usize) -> Result<Vec<Audited>, Error> {
        let mut statement = Statement::new(
            "select a.id, a.at, a.actor, a.deed, a.subject, a.details from audit a where true",
        );
        statement.given(" and a.actor = ", filter.actor.as_deref());
        statement.given(" and a.deed = ", filter.deed.map(|deed| deed.as_str()));
        statement.given(" and a.at >= ", filter.since);
        statement.given(" and a.at < ", filter.until);
        statement.given(" and a.id < ", filter.before);
        statement.push(" order by a.id desc limit ").bind(limit);
        self.rows(statement).await?.iter().map(read).collect()
    }

    async fn forget_refused(&self, before: Time) -> Result<u64, Error> {
        purge::remove(self, "audit", "r.deed = 'sign_in_refused' and r.at < $1", before).await
    }
}

fn read<R: Columns>(row: &R) -> Result<Audited, Error> {
    let Json(details) = cell(row, "details")?;
    Ok(Audited {
        id: cell(row, "id")?,
        at: cell(row, "at")?,
        actor: cell(row, "actor")?,
        deed: cell(row, "deed")?,
        subject: cell(row, "subject")?,
        details,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        adapters::test_stores::{NOW, TestStore, on_both_stores},
        flow::back_office::audit::Deed,
    };

    on_both_stores!(
        deeds_are_told_newest_first_and_by_who_did_what_when,
        of_old_deeds_only_refused_sign_ins_are_forgotten,
    );

    async fn of_old_deeds_only_refused_sign_ins_are_forgotten<S: TestStore>(store: &S) {
        let deed = |ms, deed| Audited::new(NOW.plus_ms(ms), "system", deed);
        let kept = [deed(0, Deed::SignedIn), deed(1, Deed::SignInRefused)];
        for deed in [&deed(0, Deed::SignInRefused), &kept[0], &kept[1]] {
            store.note(deed).await.expect("written");
        }
        for gone in [1, 0] {
            assert_eq!(store.forget_refused(NOW.plus_ms(1)).await.expect("forgotten"), gone);
        }
        let [old, young] = kept;
        assert_eq!(store.audited(&AuditFilter::default(), 9).await.expect("read"), [young, old]);
    }

    async fn deeds_are_told_newest_first_and_by_who_did_what_when<S: TestStore>(store: &S) {
        let deed = |ms, actor, deed| Audited::new(NOW.plus_ms(ms), actor, deed);
        let first = deed(0, "agent:ana", Deed::SignedIn).with("address", "192.0.2.1");
        let second = deed(1, "agent:ben", Deed::TokenCreated).to("a token");
        let third = deed(2, "agent:ana", Deed::Exported);
        for deed in [&first, &second, &third, &third] {
            store.note(deed).await.expect("written");
        }
        let told = async |filter: AuditFilter, limit| store.audited(&filter, limit).await.expect("read");
        let all = AuditFilter::default;
        assert_eq!(told(all(), 9).await, [third.clone(), second.clone(), first.clone()], "each once");
        assert_eq!(told(all(), 1).await, std::slice::from_ref(&third));
        let before = AuditFilter { before: Some(third.id), ..all() };
        assert_eq!(told(before, 9).await, [second.clone(), first.clone()]);
        let ana = AuditFilter { actor: Some("agent:ana".to_owned()), ..all() };
        assert_eq!(told(ana, 9).await, [third.clone(), first.clone()]);
        let exports = AuditFilter { deed: Some(Deed::Exported), ..all() };
        assert_eq!(told(exports, 9).await, [third]);
        let between = AuditFilter { since: Some(NOW.plus_ms(1)), until: Some(NOW.plus_ms(2)), ..all() };
        assert_eq!(told(between, 9).await, [second]);
    }
}
