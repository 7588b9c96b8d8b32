//! How the gateway misbehaves on demand: with a call, with a message that it took, or with what it reports.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Account, answer::Answer, sending::over_quota};

/// The free plan writes to so many chats a month.
const FREE_CHATS: usize = 3;

/// One way to misbehave, so many times.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Fault {
    pub(crate) fault: Kind,
    /// Of a call: the method that it is about, or `*`.
    #[serde(default = "send_message")]
    pub(super) method: String,
    /// It happens so often.
    #[serde(default = "once")]
    pub(super) times: u32,
    /// Of a call: what was asked for is done, and only its answer suffers.
    #[serde(default)]
    taken: bool,
    #[serde(default = "bad_gateway")]
    status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<Value>,
    #[serde(default)]
    ms: u64,
}

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The call is answered `status`, with `body` if there is one.
    Status,
    /// It is not answered.
    Hang,
    /// Its connection breaks.
    Drop,
    /// It is answered `ms` later.
    Slow,
    /// The message is taken, and nothing is ever heard of it.
    Swallow,
    /// Nobody is told that the API sent it.
    NoEcho,
    /// There is nobody at that number.
    NoAccount,
    /// It fails.
    Fail,
    /// It is said to have failed, and then to be sent.
    FailThenSend,
    /// What is told is told twice.
    Twice,
    /// What is told comes after what was to be told after it.
    Swap,
}

/// How an answer gets to who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Travel {
    Well,
    After(u64),
    Never,
    Breaks,
}

fn send_message() -> String {
    "sendMessage".to_owned()
}

const fn once() -> u32 {
    1
}

const fn bad_gateway() -> u16 {
    502
}

impl Fault {
    const fn is_of_call(&self) -> bool {
        matches!(self.fault, Kind::Status | Kind::Hang | Kind::Drop | Kind::Slow)
    }

    pub(super) const fn is_of_message(&self) -> bool {
        !self.is_of_call() && !self.is_of_notice()
    }

    pub(super) const fn is_taken(&self) -> bool {
        self.taken || matches!(self.fault, Kind::Slow)
    }

    /// The answer, or what is said instead of it.
    pub(super) fn answer(&self, answer: Answer) -> Answer {
        if self.fault != Kind::Status {
            return answer;
        }
        match (self.status, &self.body) {
            (status, Some(body)) => Answer::Json(status, body.clone()),
            (466, None) => Answer::Json(466, over_quota(FREE_CHATS)),
            (status @ 500..=599, None) => Answer::Page(status),
            (status, None) => Answer::Empty(status),
        }
    }

    pub(super) const fn travel(&self) -> Travel {
        match self.fault {
            Kind::Hang => Travel::Never,
            Kind::Drop => Travel::Breaks,
            Kind::Slow => Travel::After(self.ms),
            Kind::Status
            | Kind::Swallow
            | Kind::NoEcho
            | Kind::NoAccount
            | Kind::Fail
            | Kind::FailThenSend
            | Kind::Twice
            | Kind::Swap => Travel::Well,
        }
    }

    /// What is wrong with it, before it counts.
    pub(crate) fn complaint(&self) -> Option<&'static str> {
        match (self.times, self.status) {
            (0, _) => Some("times must be at least 1"),
            (_, 200..=599) => None,
            _ => Some("status must be from 200 to 599"),
        }
    }
}

impl Account {
    pub(crate) fn add_fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// From now on it behaves.
    pub(crate) fn clear_faults(&mut self) {
        self.faults.clear();
    }

    pub(super) fn fault_of_call(&mut self, method: &str) -> Option<Fault> {
        self.take_fault(|fault| fault.is_of_call() && (fault.method == method || fault.method == "*"))
    }

    /// The first such fault, which has then happened once more.
    pub(super) fn take_fault(&mut self, is_meant: impl Fn(&Fault) -> bool) -> Option<Fault> {
        let at = self.faults.iter().position(is_meant)?;
        self.faults[at].times = self.faults[at].times.saturating_sub(1);
        let fault = self.faults[at].clone();
        if fault.times == 0 {
            self.faults.remove(at);
        }
        Some(fault)
    }
}
