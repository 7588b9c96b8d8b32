//! The rule that decides whether the assistant may still speak.
//!
//! In comes what it saw when its turn began and what is now, read under the lock of the row that is about to be
//! written; out goes a permit or a named refusal. Pure: it waits for nothing and remembers nothing.

/// Who answers the contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The assistant.
    Ai,
    /// A person.
    Human,
}

/// A conversation at one moment, as far as this rule must know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// Who answers.
    pub mode: Mode,
    /// Rises by one with every change of mode.
    pub version: i64,
    /// Rises by one with every lease of the conversation, and whenever a running turn must not go on.
    pub fence: i64,
    /// The contact's newest message. In what was seen: the newest one read, or None if newer ones are no reason to
    /// refuse.
    pub last_seq: Option<i64>,
}

/// The assistant may write, in this transaction and no later one. Only [`check`] makes it, and it cannot be copied.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a permit is good for the write it was asked for"]
pub struct Permit {
    version: i64,
    fence: i64,
}

impl Permit {
    /// The mode version that what is written belongs to.
    pub const fn version(&self) -> i64 {
        self.version
    }

    /// The fence under which it is written.
    pub const fn fence(&self) -> i64 {
        self.fence
    }
}

/// Why the assistant may not speak. Where several reasons hold, the first in this order is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A person answers now.
    #[error("a person answers, since mode version {current}; the turn began at {seen}")]
    HumanAnswers {
        /// The version at which the turn began.
        seen: i64,
        /// The version now.
        current: i64,
    },
    /// The assistant answers again, or the turn never began under the assistant. What it was about to say is from
    /// another time.
    #[error("the mode version is {current}; the turn began at {seen}")]
    VersionMoved {
        /// The version at which the turn began.
        seen: i64,
        /// The version now.
        current: i64,
    },
    /// Somebody else has the conversation: the turn outlived its lease, or was stopped.
    #[error("the fence is {current}; the turn holds {seen}")]
    FenceMoved {
        /// The fence of the turn.
        seen: i64,
        /// The fence now.
        current: i64,
    },
    /// The contact has written more than the turn has read.
    #[error("the contact's newest message is {current}; the turn has read up to {seen}")]
    NewerMessage {
        /// The newest message the turn has read.
        seen: i64,
        /// The newest message there is.
        current: i64,
    },
}

/// Compares what was seen with what is.
///
/// Versions and fences are compared for being equal, not for being newer: after a restore they may be lower, and what
/// is not current is refused either way.
pub fn check(seen: &Snapshot, current: &Snapshot) -> Result<Permit, Refusal> {
    let version_moved = Refusal::VersionMoved { seen: seen.version, current: current.version };
    match (seen.mode, current.mode) {
        (Mode::Ai | Mode::Human, Mode::Human) => {
            return Err(Refusal::HumanAnswers { seen: seen.version, current: current.version });
        }
        // Nothing that began while a person answered may speak for the assistant, whatever the numbers say.
        (Mode::Human, Mode::Ai) => return Err(version_moved),
        (Mode::Ai, Mode::Ai) => {}
    }
    if seen.version != current.version {
        return Err(version_moved);
    }
    if seen.fence != current.fence {
        return Err(Refusal::FenceMoved { seen: seen.fence, current: current.fence });
    }
    match (seen.last_seq, current.last_seq) {
        (Some(seen), Some(current)) if current > seen => Err(Refusal::NewerMessage { seen, current }),
        (None | Some(_), None | Some(_)) => Ok(Permit { version: current.version, fence: current.fence }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: Snapshot = Snapshot { mode: Mode::Ai, version: 4, fence: 7, last_seq: Some(20) };

    fn word(answer: &Result<Permit, Refusal>) -> &'static str {
        match answer {
            Ok(_) => "permit",
            Err(Refusal::HumanAnswers { .. }) => "human",
            Err(Refusal::VersionMoved { .. }) => "version",
            Err(Refusal::FenceMoved { .. }) => "fence",
            Err(Refusal::NewerMessage { .. }) => "newer",
        }
    }

    #[test]
    fn every_combination_gets_the_first_reason_that_holds() {
        #[rustfmt::skip]
        let table = [
            // seen in      now         version  fence    newer    answer
            (Mode::Ai,    Mode::Ai,    false,   false,   false,   "permit"),
            (Mode::Ai,    Mode::Ai,    false,   false,   true,    "newer"),
            (Mode::Ai,    Mode::Ai,    false,   true,    false,   "fence"),
            (Mode::Ai,    Mode::Ai,    false,   true,    true,    "fence"),
            (Mode::Ai,    Mode::Ai,    true,    false,   false,   "version"),
            (Mode::Ai,    Mode::Ai,    true,    false,   true,    "version"),
            (Mode::Ai,    Mode::Ai,    true,    true,    false,   "version"),
            (Mode::Ai,    Mode::Ai,    true,    true,    true,    "version"),
            (Mode::Ai,    Mode::Human, false,   false,   false,   "human"),
            (Mode::Ai,    Mode::Human, false,   false,   true,    "human"),
            (Mode::Ai,    Mode::Human, false,   true,    false,   "human"),
            (Mode::Ai,    Mode::Human, false,   true,    true,    "human"),
            (Mode::Ai,    Mode::Human, true,    false,   false,   "human"),
            (Mode::Ai,    Mode::Human, true,    false,   true,    "human"),
            (Mode::Ai,    Mode::Human, true,    true,    false,   "human"),
            (Mode::Ai,    Mode::Human, true,    true,    true,    "human"),
            (Mode::Human, Mode::Ai,    false,   false,   false,   "version"),
            (Mode::Human, Mode::Ai,    false,   false,   true,    "version"),
            (Mode::Human, Mode::Ai,    false,   true,    false,   "version"),
            (Mode::Human, Mode::Ai,    false,   true,    true,    "version"),
            (Mode::Human, Mode::Ai,    true,    false,   false,   "version"),
            (Mode::Human, Mode::Ai,    true,    false,   true,    "version"),
            (Mode::Human, Mode::Ai,    true,    true,    false,   "version"),
            (Mode::Human, Mode::Ai,    true,    true,    true,    "version"),
            (Mode::Human, Mode::Human, false,   false,   false,   "human"),
            (Mode::Human, Mode::Human, false,   false,   true,    "human"),
            (Mode::Human, Mode::Human, false,   true,    false,   "human"),
            (Mode::Human, Mode::Human, false,   true,    true,    "human"),
            (Mode::Human, Mode::Human, true,    false,   false,   "human"),
            (Mode::Human, Mode::Human, true,    false,   true,    "human"),
            (Mode::Human, Mode::Human, true,    true,    false,   "human"),
            (Mode::Human, Mode::Human, true,    true,    true,    "human"),
        ];
        for (seen_in, now, version, fence, newer, answer) in table {
            let seen = Snapshot { mode: seen_in, ..SEEN };
            let current = Snapshot {
                mode: now,
                version: SEEN.version + i64::from(version),
                fence: SEEN.fence + i64::from(fence),
                last_seq: Some(20 + i64::from(newer)),
            };
            assert_eq!(word(&check(&seen, &current)), answer, "{seen:?} against {current:?}");
        }
    }

    #[test]
    fn an_assistant_that_answers_again_does_not_revive_what_it_said_before() {
        let current = Snapshot { version: 6, ..SEEN };
        assert_eq!(check(&SEEN, &current), Err(Refusal::VersionMoved { seen: 4, current: 6 }));
    }

    #[test]
    fn a_number_lower_than_what_was_seen_is_refused_too() {
        let restored = Snapshot { version: 3, ..SEEN };
        assert_eq!(word(&check(&SEEN, &restored)), "version");
        let restored = Snapshot { fence: 6, ..SEEN };
        assert_eq!(word(&check(&SEEN, &restored)), "fence");
    }

    #[test]
    fn newer_messages_count_only_when_asked() {
        #[rustfmt::skip]
        let table = [
            // read      newest    answer
            (None,     None,     "permit"),
            (None,     Some(99), "permit"),
            (Some(20), None,     "permit"),
            (Some(20), Some(19), "permit"),
            (Some(20), Some(20), "permit"),
            (Some(20), Some(21), "newer"),
        ];
        for (read, newest, answer) in table {
            let seen = Snapshot { last_seq: read, ..SEEN };
            let current = Snapshot { last_seq: newest, ..SEEN };
            assert_eq!(word(&check(&seen, &current)), answer, "read {read:?}, newest {newest:?}");
        }
    }

    #[test]
    fn a_permit_names_the_version_and_the_fence_it_was_given_for() {
        let permit = check(&SEEN, &SEEN).expect("nothing moved");
        assert_eq!((permit.version(), permit.fence()), (4, 7));
    }
}
