//! How much of what all callers share one of them may hold at once: what is there for everybody is not used up by one.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Semaphore;

/// One thing that callers share.
pub(super) struct Shares {
    most: usize,
    held: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

impl Shares {
    /// At most that much for one caller.
    pub(super) const fn new(most: usize) -> Self {
        Self { most, held: Mutex::new(BTreeMap::new()) }
    }

    /// What is left for this caller, by [`key_holder`](super::auth::Caller::key_holder): an agent is one, with however many
    /// sessions.
    pub(super) fn of(&self, caller: String) -> Arc<Semaphore> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        // A permit holds its semaphore: what only we hold is whole again.
        held.retain(|_, share| Arc::strong_count(share) > 1);
        let whole = || Arc::new(Semaphore::new(self.most));
        Arc::clone(held.entry(caller).or_insert_with(whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_uses_up_their_own_share_and_it_comes_back() {
        let shares = Shares::new(2);
        let take = |caller: &str| shares.of(caller.to_owned()).try_acquire_owned();
        let (first, second) = (take("ana").expect("one"), take("ana").expect("two"));
        assert!(take("ana").is_err());
        let of_another = take("ben").expect("his own");
        drop((first, of_another));
        let third = take("ana").expect("one is back");
        drop((second, third));
        drop(take("ben").expect("his own"));
        assert_eq!(shares.held.lock().expect("not poisoned").len(), 1, "nobody is kept who holds nothing");
    }
}
