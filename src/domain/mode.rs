//! Who answers: the mode of a conversation and everything that changes it.
//!
//! One total match from mode and cause to the next mode. Every change adds one to the version; what the
//! assistant wrote under an older version is never sent.

use super::{event::actor, time::Time, words::words};

words! {
    /// Who answers the contact.
    Mode {
        /// The assistant.
        Ai = "AI",
        /// A person.
        Human = "HUMAN",
    }
}

words! {
    /// Why the mode is what it is.
    Reason {
        /// A person pressed the button, in the dashboard or by the API.
        AgentButton = "agent_button",
        /// A person sent a message from the dashboard or by the API.
        AgentMessage = "agent_message",
        /// A person wrote on the phone itself.
        AgentPhone = "agent_phone",
        /// Another program sent through the same instance.
        OtherSystem = "other_system",
        /// The contact asked for a person.
        ContactAsked = "contact_asked",
        /// The assistant handed over.
        AssistantAsked = "assistant_asked",
        /// Too many answers in an hour without a person.
        ReplyCap = "reply_cap",
        /// The time of a hold is over.
        HoldExpired = "hold_expired",
        /// A person gave the conversation back.
        Released = "released",
        /// New conversations begin so, by rollout or because there is no model.
        Rollout = "rollout",
        /// The contact wants no messages of the machine's own accord.
        OptedOut = "opted_out",
        /// Outside the assistant's hours.
        Hours = "hours",
        /// A suggestion was sent.
        DraftSent = "draft_sent",
        /// Automation switched.
        Api = "api",
    }
}

/// The mode of one conversation, with its history of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeState {
    /// Who answers.
    pub mode: Mode,
    /// Rises by one with every change.
    pub version: i64,
    /// Why the mode is this one.
    pub reason: Reason,
    /// Who changed it.
    pub actor: String,
    /// When it changed to this.
    pub changed_at: Time,
    /// HUMAN goes back to AI then, if set.
    pub until: Option<Time>,
}

impl ModeState {
    /// The mode in which a conversation begins.
    pub fn initial(mode: Mode, reason: Reason, actor: &str, now: Time) -> Self {
        Self { mode, version: 1, reason, actor: actor.to_owned(), changed_at: now, until: None }
    }

    /// Applies a cause; true if the mode changed. The same mode again leaves everything as it was.
    pub fn apply(&mut self, reason: Reason, to: Mode, actor: &str, now: Time) -> bool {
        if self.mode == to {
            return false;
        }
        *self = Self {
            mode: to,
            version: self.version + 1,
            reason,
            actor: actor.to_owned(),
            changed_at: now,
            until: None,
        };
        true
    }

    /// Whether it is HUMAN by the hours of the assistant: not where a person names that reason.
    pub fn is_by_hours(&self) -> bool {
        self.mode == Mode::Human && self.reason == Reason::Hours && !actor::is_our_side(&self.actor)
    }
}

/// Where a cause leads from a mode. `None`: it is not a cause in this mode, and nothing changes.
pub const fn next(from: Mode, cause: Reason) -> Option<Mode> {
    use Reason as R;
    match (from, cause) {
        (
            Mode::Ai | Mode::Human,
            R::AgentMessage | R::AgentPhone | R::OtherSystem | R::DraftSent | R::ContactAsked,
        ) => Some(Mode::Human),
        (Mode::Ai, R::AssistantAsked | R::ReplyCap | R::OptedOut | R::Hours) => Some(Mode::Human),
        // The machine's own reasons to hand over mean nothing where a person already answers.
        (Mode::Human, R::AssistantAsked | R::ReplyCap | R::OptedOut | R::Hours) => None,
        (Mode::Human, R::HoldExpired | R::Released) => Some(Mode::Ai),
        (Mode::Ai, R::HoldExpired | R::Released) => None,
        // Only a request that names its mode switches by these; they lead nowhere by themselves.
        (Mode::Ai | Mode::Human, R::AgentButton | R::Api | R::Rollout) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_in_every_mode_leads_where_the_table_says() {
        let human = Some(Mode::Human);
        let ai = Some(Mode::Ai);
        #[rustfmt::skip]
        let table = [
            // cause                  from AI   from HUMAN
            (Reason::AgentButton,     None,     None),
            (Reason::AgentMessage,    human,    human),
            (Reason::AgentPhone,      human,    human),
            (Reason::OtherSystem,     human,    human),
            (Reason::ContactAsked,    human,    human),
            (Reason::AssistantAsked,  human,    None),
            (Reason::ReplyCap,        human,    None),
            (Reason::HoldExpired,     None,     ai),
            (Reason::Released,        None,     ai),
            (Reason::Rollout,         None,     None),
            (Reason::OptedOut,        human,    None),
            (Reason::Hours,           human,    None),
            (Reason::DraftSent,       human,    human),
            (Reason::Api,             None,     None),
        ];
        assert_eq!(table.len(), Reason::ALL.len());
        for (cause, from_ai, from_human) in table {
            assert_eq!(next(Mode::Ai, cause), from_ai, "AI, {cause}");
            assert_eq!(next(Mode::Human, cause), from_human, "HUMAN, {cause}");
        }
    }

    #[test]
    fn every_change_adds_one_and_the_same_mode_adds_nothing() {
        let mut state = ModeState::initial(Mode::Ai, Reason::Released, "system", Time(0));
        assert!(!state.apply(Reason::Released, Mode::Ai, "agent:1", Time(1)));
        assert_eq!((state.version, state.changed_at), (1, Time(0)));
        assert!(state.apply(Reason::AgentButton, Mode::Human, "agent:1", Time(2)));
        assert!(state.apply(Reason::Released, Mode::Ai, "agent:1", Time(3)));
        assert_eq!((state.version, state.mode), (3, Mode::Ai), "AI again is not the AI of before");
    }

    #[test]
    fn words_are_read_back() {
        for reason in Reason::ALL {
            assert_eq!(reason.as_str().parse::<Reason>().ok(), Some(*reason));
        }
        assert!("ai".parse::<Mode>().is_err());
    }
}
