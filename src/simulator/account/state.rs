//! Whether the phone is linked, and restarts.

use serde_json::{Map, Value, json};

use super::{
    Account,
    answer::{Answer, Call},
};

/// The number of the business.
const WID: &str = "6590000000@c.us";

const AUTHORIZED: &str = "authorized";
const NOT_AUTHORIZED: &str = "notAuthorized";
const STARTING: &str = "starting";

/// A picture of one point, where the code that links a phone would be: there is no phone.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// A restart that is under way.
#[derive(Debug)]
pub(super) struct Restart {
    pub(super) ends_at: i64,
    changes: Map<String, Value>,
}

impl Account {
    /// How the account is, as it says.
    pub(super) fn state(&self) -> &str {
        if self.restart.is_some() { STARTING } else { &self.state }
    }

    pub(super) fn can_send(&self) -> bool {
        self.state() == AUTHORIZED
    }

    /// Its own number; empty while no phone is linked.
    pub(super) fn wid(&self) -> String {
        if self.state == NOT_AUTHORIZED { String::new() } else { WID.to_owned() }
    }

    /// The account becomes so, and says it.
    pub(crate) fn become_state(&mut self, state: &str, now: i64) {
        if let Some(restart) = self.restart.take() {
            self.settings.set(restart.changes);
        }
        state.clone_into(&mut self.state);
        self.tell_state(now);
    }

    /// Restarts. What changes holds afterwards.
    pub(super) fn restart_with(&mut self, changes: Map<String, Value>, now: i64) {
        let ends_at = now.saturating_add(self.options.pace.restart_ms);
        // What another restart was to bring is not lost by this one.
        let mut all = self.restart.take().map(|restart| restart.changes).unwrap_or_default();
        all.extend(changes);
        self.restart = Some(Restart { ends_at, changes: all });
        if ends_at > now {
            self.tell_state(now);
        } else {
            self.end_restart(now);
        }
    }

    pub(super) fn end_restart(&mut self, now: i64) {
        let Some(restart) = self.restart.take() else { return };
        self.settings.set(restart.changes);
        self.tell_state(now);
    }

    fn tell_state(&mut self, now: i64) {
        let told = json!({ "typeWebhook": "stateInstanceChanged", "stateInstance": self.state() });
        self.tell("stateWebhook", told, now);
    }

    pub(super) fn state_instance(&mut self, _: &Call) -> Answer {
        Answer::ok(json!({ "stateInstance": self.state() }))
    }

    pub(super) fn status_instance(&mut self, _: &Call) -> Answer {
        Answer::ok(json!({ "statusInstance": if self.can_send() { "online" } else { "offline" } }))
    }

    /// Without phone there is nobody to scan it: a test links by letting the state change.
    pub(super) fn qr(&mut self, _: &Call) -> Answer {
        let (kind, message) = match self.state() {
            AUTHORIZED => ("alreadyLogged", "instance account already authorized"),
            NOT_AUTHORIZED => ("qrCode", PICTURE),
            _ => ("error", "instance is starting or not authorized"),
        };
        Answer::ok(json!({ "type": kind, "message": message }))
    }

    pub(super) fn wa_settings(&mut self, _: &Call) -> Answer {
        let wid = self.wid();
        let phone = wid.split('@').next().unwrap_or_default();
        Answer::ok(json!({ "avatar": "", "phone": phone, "stateInstance": self.state(), "deviceId": wid }))
    }

    pub(super) fn reboot(&mut self, call: &Call) -> Answer {
        self.restart_with(Map::new(), call.now);
        Answer::ok(json!({ "isReboot": true }))
    }

    pub(super) fn logout(&mut self, call: &Call) -> Answer {
        self.become_state(NOT_AUTHORIZED, call.now);
        Answer::ok(json!({ "isLogout": true }))
    }
}
