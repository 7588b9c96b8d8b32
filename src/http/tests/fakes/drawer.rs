use std::sync::Mutex;

use async_trait::async_trait;
use uuid::Uuid;

use crate::{
    domain::label::{Label, fold},
    flow::{
        ledger::Error,
        stationery::{Put, Stationery},
    },
};

/// Labels, in the order in which they came.
#[derive(Default)]
pub(in super::super) struct Drawer {
    pub(in super::super) labels: Mutex<Vec<Label>>,
}

/// Keeps it in place of the one before, unless another is called so.
fn put<T: Clone>(
    all: &mut [T],
    new: &T,
    is_same: impl Fn(&T, &T) -> bool,
    clashes: impl Fn(&T, &T) -> bool,
) -> Put {
    if all.iter().any(|other| !is_same(other, new) && clashes(other, new)) {
        return Put::Taken;
    }
    match all.iter_mut().find(|other| is_same(other, new)) {
        Some(before) => {
            before.clone_from(new);
            Put::Kept
        }
        None => Put::Gone,
    }
}

fn labels_clash(one: &Label, other: &Label) -> bool {
    fold(&one.name) == fold(&other.name)
}

#[async_trait]
impl Stationery for Drawer {
    async fn labels(&self) -> Result<Vec<Label>, Error> {
        Ok(self.labels.lock().unwrap().clone())
    }

    async fn add_label(&self, label: &Label) -> Result<bool, Error> {
        let mut all = self.labels.lock().unwrap();
        let is_free = !all.iter().any(|other| labels_clash(other, label));
        if is_free {
            all.push(label.clone());
        }
        Ok(is_free)
    }

    async fn put_label(&self, label: &Label) -> Result<Put, Error> {
        let is_same = |one: &Label, other: &Label| one.id == other.id;
        Ok(put(&mut self.labels.lock().unwrap(), label, is_same, labels_clash))
    }

    async fn remove_label(&self, id: Uuid) -> Result<bool, Error> {
        let mut all = self.labels.lock().unwrap();
        let before = all.len();
        all.retain(|label| label.id != id);
        Ok(all.len() < before)
    }
}
