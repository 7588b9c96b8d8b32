use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use uuid::Uuid;

use super::postbox::is_within;
use crate::{
    domain::{
        canned_reply::CannedReply,
        label::{Label, fold},
        time::Time,
    },
    flow::{
        archive::{Page, PageOf},
        back_office::{
            audit::{Audit, AuditFilter, Audited},
            idempotency_keys::{IdempotencyKeys, KeyClaim},
            labels_and_replies::{
                AddOutcome, ChangeOutcome, LABELS_KEPT_MAX, LabelChange, LabelsAndReplies, REPLIES_MAX,
                ReplyChange, ReplyFilter,
            },
        },
        desk::Idempotency,
        ledger::Error,
    },
};

/// The hash of a body, and what was answered to it.
type Kept = (String, Option<Vec<u8>>);

/// Labels and canned replies, in the order in which they came; and what requests were answered.
#[derive(Default)]
pub(in super::super) struct Drawer {
    pub(in super::super) labels: Mutex<Vec<Label>>,
    pub(in super::super) replies: Mutex<Vec<CannedReply>>,
    kept: Mutex<HashMap<String, Kept>>,
    pub(in super::super) deeds: Mutex<Vec<Audited>>,
    /// The next canned reply that is looked at is for all channels just after that.
    pub(in super::super) is_widened: AtomicBool,
}

/// Keeps it in place of the one before, unless another is called so.
fn put<T: Clone>(
    all: &mut [T],
    new: &T,
    is_same: impl Fn(&T, &T) -> bool,
    clashes: impl Fn(&T, &T) -> bool,
) -> ChangeOutcome {
    if all.iter().any(|other| !is_same(other, new) && clashes(other, new)) {
        return ChangeOutcome::Taken;
    }
    match all.iter_mut().find(|other| is_same(other, new)) {
        Some(before) => {
            before.clone_from(new);
            ChangeOutcome::Kept
        }
        None => ChangeOutcome::Gone,
    }
}

fn labels_clash(one: &Label, other: &Label) -> bool {
    fold(&one.name) == fold(&other.name)
}

fn replies_clash(one: &CannedReply, other: &CannedReply) -> bool {
    one.owner == other.owner && fold(&one.shortcut) == fold(&other.shortcut)
}

#[async_trait]
impl LabelsAndReplies for Drawer {
    async fn labels(&self) -> Result<Vec<Label>, Error> {
        Ok(self.labels.lock().unwrap().clone())
    }

    async fn add_label(&self, label: &Label) -> Result<AddOutcome, Error> {
        let mut all = self.labels.lock().unwrap();
        if all.iter().any(|other| labels_clash(other, label)) {
            return Ok(AddOutcome::Taken);
        }
        if all.len() >= LABELS_KEPT_MAX {
            return Ok(AddOutcome::TooMany);
        }
        all.push(label.clone());
        Ok(AddOutcome::Kept)
    }

    async fn change_label(&self, id: Uuid, change: &LabelChange) -> Result<ChangeOutcome, Error> {
        let mut all = self.labels.lock().unwrap();
        let Some(mut label) = all.iter().find(|label| label.id == id).cloned() else {
            return Ok(ChangeOutcome::Gone);
        };
        change.clone().apply(&mut label);
        let is_same = |one: &Label, other: &Label| one.id == other.id;
        Ok(put(&mut all, &label, is_same, labels_clash))
    }

    async fn remove_label(&self, id: Uuid) -> Result<bool, Error> {
        let mut all = self.labels.lock().unwrap();
        let before = all.len();
        all.retain(|label| label.id != id);
        Ok(all.len() < before)
    }

    async fn canned_replies(&self, filter: &ReplyFilter, page: &PageOf) -> Result<Page<CannedReply>, Error> {
        let is_seen = |reply: &CannedReply| match (reply.owner, &filter.channels, &reply.channels) {
            (Some(_), _, _) => reply.owner == filter.owner,
            (None, Some(seen), Some(channels)) => channels.iter().any(|name| seen.contains(name)),
            (None, _, _) => true,
        };
        let mut items: Vec<CannedReply> = self.replies.lock().unwrap().clone();
        items.retain(is_seen);
        items.sort_by_key(|reply| (fold(&reply.shortcut), reply.id));
        items.truncate(page.limit);
        Ok(Page { items, next: None })
    }

    async fn canned_reply(&self, id: Uuid) -> Result<Option<CannedReply>, Error> {
        let mut all = self.replies.lock().unwrap();
        let found = all.iter().find(|reply| reply.id == id).cloned();
        if self.is_widened.swap(false, Ordering::SeqCst) {
            all.iter_mut().filter(|reply| reply.id == id).for_each(|reply| reply.channels = None);
        }
        Ok(found)
    }

    async fn canned_reply_called(
        &self,
        owner: Option<Uuid>,
        shortcut: &str,
    ) -> Result<Option<CannedReply>, Error> {
        let is_it = |reply: &&CannedReply| reply.owner == owner && fold(&reply.shortcut) == fold(shortcut);
        Ok(self.replies.lock().unwrap().iter().find(is_it).cloned())
    }

    async fn add_canned_reply(&self, reply: &CannedReply) -> Result<AddOutcome, Error> {
        let mut all = self.replies.lock().unwrap();
        if all.iter().any(|other| replies_clash(other, reply)) {
            return Ok(AddOutcome::Taken);
        }
        if all.iter().filter(|other| other.owner == reply.owner).count() >= REPLIES_MAX {
            return Ok(AddOutcome::TooMany);
        }
        all.push(reply.clone());
        Ok(AddOutcome::Kept)
    }

    async fn change_canned_reply(&self, id: Uuid, change: &ReplyChange) -> Result<ChangeOutcome, Error> {
        let mut all = self.replies.lock().unwrap();
        let is_it = |it: &&CannedReply| it.id == id && is_within(&it.channels, change.within.as_deref());
        let Some(mut reply) = all.iter().find(is_it).cloned() else {
            return Ok(ChangeOutcome::Gone);
        };
        change.clone().apply(&mut reply);
        let is_same = |one: &CannedReply, other: &CannedReply| one.id == other.id;
        Ok(put(&mut all, &reply, is_same, replies_clash))
    }

    async fn remove_canned_reply(&self, id: Uuid, within: Option<&[String]>) -> Result<bool, Error> {
        let mut all = self.replies.lock().unwrap();
        let before = all.len();
        all.retain(|reply| reply.id != id || !is_within(&reply.channels, within));
        Ok(all.len() < before)
    }
}

#[async_trait]
impl IdempotencyKeys for Drawer {
    async fn begin(&self, request: &Idempotency, _: Uuid, _: i64) -> Result<KeyClaim, Error> {
        let mut kept = self.kept.lock().unwrap();
        Ok(match kept.get(&request.key) {
            None => {
                kept.insert(request.key.clone(), (request.body_hash.clone(), None));
                KeyClaim::Yours
            }
            Some((hash, _)) if *hash != request.body_hash => KeyClaim::KeyReused,
            Some((_, None)) => KeyClaim::InProgress,
            Some((_, Some(answer))) => KeyClaim::Answered(answer.clone()),
        })
    }

    async fn answer(&self, key: &str, _: Uuid, _: &str, sealed: Vec<u8>) -> Result<(), Error> {
        self.kept.lock().unwrap().get_mut(key).expect("it was begun").1 = Some(sealed);
        Ok(())
    }

    async fn let_go(&self, key: &str, _: Uuid) -> Result<(), Error> {
        self.kept.lock().unwrap().remove(key);
        Ok(())
    }

    async fn forget_requests(&self, _: Time) -> Result<u64, Error> {
        Ok(0)
    }
}

#[async_trait]
impl Audit for Drawer {
    async fn note(&self, deed: &Audited) -> Result<(), Error> {
        self.deeds.lock().expect("not poisoned").insert(0, deed.clone());
        Ok(())
    }

    async fn audited(&self, filter: &AuditFilter, limit: usize) -> Result<Vec<Audited>, Error> {
        let deeds = self.deeds.lock().expect("not poisoned");
        let is_meant = |deed: &&Audited| filter.before.is_none_or(|before| deed.id < before);
        Ok(deeds.iter().filter(is_meant).take(limit).cloned().collect())
    }

    async fn forget_refused(&self, _: Time) -> Result<u64, Error> {
        Ok(0)
    }
}
