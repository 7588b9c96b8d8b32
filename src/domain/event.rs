//! Events: each change that anyone can see, and each decision of a race.

use std::borrow::Cow;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::{time::Time, words::words};

words! {
    /// What happened.
    EventType {
        /// A message of the contact was stored.
        MessageReceived = "message_received",
        /// A webhook that was seen before was skipped.
        DuplicateWebhook = "duplicate_webhook",
        /// A webhook of no consequence was acknowledged.
        WebhookIgnored = "webhook_ignored",
        /// A webhook that cannot be read was kept.
        WebhookDeadLettered = "webhook_dead_lettered",
        /// The assistant began.
        TurnStarted = "turn_started",
        /// Its reply was committed.
        TurnCompleted = "turn_completed",
        /// An attempt failed.
        TurnFailed = "turn_failed",
        /// The assistant asked the business to do something, and its reply leaves.
        ToolCalled = "tool_called",
        /// A newer message made it start again.
        TurnSuperseded = "turn_superseded",
        /// A generation was cancelled by a change of mode.
        ModeChangeDuringGeneration = "mode_change_during_generation",
        /// A reply was discarded by a change of mode.
        ModeChangeBeforeSend = "mode_change_before_send",
        /// The mode changed.
        ModeChanged = "mode_changed",
        /// A person took over.
        AgentTookOver = "agent_took_over",
        /// A message is owed.
        MessageQueued = "message_queued",
        /// The provider accepted it.
        MessageSent = "message_sent",
        /// A try to send it failed.
        MessageFailed = "message_failed",
        /// Nobody knows whether it went.
        SendUncertain = "send_uncertain",
        /// Now somebody does.
        SendReconciled = "send_reconciled",
        /// The provider reported its way.
        DeliveryUpdated = "delivery_updated",
        /// A follow-up was scheduled.
        FollowUpScheduled = "follow_up_scheduled",
        /// It was cancelled.
        FollowUpCancelled = "follow_up_cancelled",
        /// It went.
        FollowUpSent = "follow_up_sent",
        /// It was held back for good.
        FollowUpWithheld = "follow_up_withheld",
        /// Another instance holds the conversation.
        LockContended = "lock_contended",
        /// Our lease was gone when we came back.
        LockLost = "lock_lost",
        /// The work of a lost instance was taken over.
        LeaseTakenOver = "lease_taken_over",
        /// A breaker opened.
        BreakerOpened = "breaker_opened",
        /// It closed.
        BreakerClosed = "breaker_closed",
        /// Far more follow-ups left than on any day before: the others wait for a person to look.
        BrakeLatched = "brake_latched",
        /// A person has looked, and they may leave.
        BrakeReleased = "brake_released",
        /// A suggestion was written.
        DraftCreated = "draft_created",
        /// It is of no use as it is any more, or a person has decided about it.
        DraftRetired = "draft_retired",
        /// The provider reports another state of the channel.
        ChannelStateChanged = "channel_state_changed",
        /// One contact writes too much.
        Flood = "flood",
        /// A person was erased.
        ConversationErased = "conversation_erased",
        /// A conversation began.
        ConversationCreated = "conversation_created",
        /// Something of it changed.
        ConversationUpdated = "conversation_updated",
        /// The clock back to AI moved.
        ModeUntilChanged = "mode_until_changed",
        /// After a takeover the last message found its end.
        TakeoverSettled = "takeover_settled",
        /// A person is needed.
        AttentionRaised = "attention_raised",
        /// No more.
        AttentionCleared = "attention_cleared",
        /// The words of a message changed.
        MessageEdited = "message_edited",
        /// Its writer deleted a message.
        MessageDeleted = "message_deleted",
        /// A message was withdrawn before it left.
        MessageCancelled = "message_cancelled",
        /// An agent left a note.
        NoteAdded = "note_added",
        /// A follow-up's time came.
        FollowUpDue = "follow_up_due",
        /// The fallback text was queued.
        FallbackSent = "fallback_sent",
        /// An earlier answer was used again.
        CachedAnswerUsed = "cached_answer_used",
        /// A dead letter was tried again.
        DeadLetterReplayed = "dead_letter_replayed",
        /// A dead letter was discarded.
        DeadLetterDiscarded = "dead_letter_discarded",
        /// A channel was changed.
        ChannelUpdated = "channel_updated",
        /// An agent was added or changed.
        AgentUpdated = "agent_updated",
        /// A token was made or revoked.
        TokenUpdated = "token_updated",
        /// A label was added, changed or removed.
        LabelUpdated = "label_updated",
        /// A canned reply was added, changed or removed.
        CannedReplyUpdated = "canned_reply_updated",
        /// A webhook endpoint was added, changed or removed, or a delivery to it was given up.
        EndpointUpdated = "endpoint_updated",
        /// An endpoint was switched off.
        EndpointDisabled = "endpoint_disabled",
        /// The sandbox behaves otherwise from now on.
        SandboxUpdated = "sandbox_updated",
        /// Sent to an endpoint when a person tests it. It is in no list: nothing has happened.
        EndpointTested = "endpoint_tested",
    }
}

impl EventType {
    /// Whether it is the decision of a race: such events are one log line each.
    pub const fn is_decision(self) -> bool {
        matches!(
            self,
            Self::DuplicateWebhook
                | Self::TurnSuperseded
                | Self::ModeChangeDuringGeneration
                | Self::ModeChangeBeforeSend
                | Self::ModeChanged
                | Self::AgentTookOver
                | Self::FollowUpCancelled
                | Self::FollowUpWithheld
                | Self::LockContended
                | Self::LockLost
                | Self::LeaseTakenOver
                | Self::SendUncertain
                | Self::SendReconciled
                | Self::WebhookDeadLettered
                | Self::TurnFailed
                | Self::MessageFailed
                | Self::MessageCancelled
                | Self::BreakerOpened
                | Self::BreakerClosed
                | Self::BrakeLatched
                | Self::BrakeReleased
                | Self::ChannelStateChanged
                | Self::DraftRetired
        )
    }

    /// Whether it is about something that belongs to no single channel: anyone who sees one sees the event, unless it says for
    /// whom it is.
    pub const fn concerns_every_channel(self) -> bool {
        matches!(
            self,
            Self::AgentUpdated | Self::TokenUpdated | Self::LabelUpdated | Self::CannedReplyUpdated
        ) || self.is_about_endpoints()
    }

    /// Whether it is about what is there only for those who see all of its channels: tokens and endpoints.
    pub const fn concerns_all_its_channels(self) -> bool {
        matches!(self, Self::TokenUpdated) || self.is_about_endpoints()
    }

    /// Whether it is about a webhook endpoint.
    pub const fn is_about_endpoints(self) -> bool {
        matches!(self, Self::EndpointUpdated | Self::EndpointDisabled | Self::EndpointTested)
    }
}

/// What happened, where, to what, and what was done about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When it happened.
    pub at: Time,
    /// The channel on which it happened.
    pub channel: String,
    /// The conversation in which it happened, if any.
    pub conversation: Option<Uuid>,
    /// Its place among the events of that conversation.
    pub conv_seq: Option<i64>,
    /// About which message.
    pub message: Option<Uuid>,
    /// About which turn.
    pub turn: Option<Uuid>,
    /// Under which version of the mode.
    pub mode_version: Option<i64>,
    /// Who did it.
    pub actor: String,
    /// What happened.
    pub kind: EventType,
    /// What was done about it.
    pub action: Option<Cow<'static, str>>,
    /// More, for people.
    pub details: Map<String, Value>,
}

impl Event {
    /// Whether it is there for this agent, on these channels (None: on all): not what another keeps for themselves, nor what
    /// is for other channels only. Of tokens and endpoints they must see all channels, and of agents themselves always.
    pub fn is_for(&self, agent: Option<Uuid>, channels: Option<&[String]>) -> bool {
        let sees = |name: &str| channels.is_none_or(|seen| seen.iter().any(|it| it == name));
        if !self.kind.concerns_every_channel() {
            return sees(&self.channel);
        }
        if let Some(owner) = self.details.get(OWNER) {
            return agent.is_some_and(|agent| owner.as_str() == Some(&agent.to_string()));
        }
        let of = self.details.get(CHANNELS).and_then(Value::as_array);
        let mut of = of.map(|of| of.iter().filter_map(Value::as_str).peekable());
        if channels.is_none() {
            true
        } else if self.kind.concerns_all_its_channels() {
            of.is_some_and(|mut of| of.peek().is_some() && of.all(sees))
        } else {
            let is_own = self.kind == EventType::AgentUpdated
                && agent.is_some_and(|agent| {
                    self.details.get(AGENT).and_then(Value::as_str) == Some(&agent.to_string())
                });
            is_own || of.as_mut().is_none_or(|of| of.any(sees))
        }
    }
}

/// The detail that names the agent it is about.
pub const AGENT: &str = "agent_id";
/// The detail that names the agent to whom it belongs: nobody else is shown it.
pub const OWNER: &str = "owner";
/// The detail that names the channels which it is for, shown to nobody; without it, it is for all.
pub const CHANNELS: &str = "channels";

/// Actors that are no account.
pub mod actor {
    /// The customer.
    pub const CONTACT: &str = "contact";
    /// The AI.
    pub const ASSISTANT: &str = "assistant";
    /// A person at the phone itself.
    pub const PHONE: &str = "phone";
    /// Another program on the same instance.
    pub const OTHER_SYSTEM: &str = "other_system";
    /// Baton itself.
    pub const SYSTEM: &str = "system";
    /// `BATON_API_TOKEN`.
    pub const ENVIRONMENT: &str = "environment";
    /// A command on the machine.
    pub const SHELL: &str = "shell";

    /// Whether that is a person of our side, or a program in their place: neither the contact nor the machine itself.
    pub fn is_our_side(actor: &str) -> bool {
        !matches!(actor, CONTACT | ASSISTANT | SYSTEM)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{EventType as E, *};
    use crate::domain::docket::Entry;

    #[test]
    fn what_somebody_keeps_for_themselves_is_told_to_nobody_else() {
        let (ana, ben) = (Uuid::now_v7(), Uuid::now_v7());
        let of = |kind, channel: &str| Entry::of(kind).outside(channel, Time(0));
        let reply = |detail: &str, value: Value| {
            Entry::of(E::CannedReplyUpdated).with(detail, value).outside("", Time(0))
        };
        let about =
            |kind, channels: &[&str]| Entry::of(kind).with(CHANNELS, json!(channels)).outside("", Time(0));
        let own = Entry::of(E::AgentUpdated).with(AGENT, ana.to_string()).with(CHANNELS, json!(["other"]));
        let own = own.outside("", Time(0)).details;
        let shop = [String::from("shop")];
        for (event, told) in [
            // to Ana on all channels, Ana on the channel shop, Ben on all, a token on all
            (of(E::ChannelUpdated, "shop"), [true, true, true, true]),
            (of(E::ChannelUpdated, "other"), [true, false, true, true]),
            (of(E::AgentUpdated, ""), [true, true, true, true]),
            (about(E::AgentUpdated, &["shop", "other"]), [true, true, true, true]),
            (about(E::AgentUpdated, &["other"]), [true, false, true, true]),
            (about(E::AgentUpdated, &[]), [true, false, true, true]),
            (Event { details: own.clone(), ..about(E::AgentUpdated, &[]) }, [true, true, true, true]),
            (of(E::TokenUpdated, ""), [true, false, true, true]),
            (about(E::TokenUpdated, &["shop"]), [true, true, true, true]),
            (about(E::TokenUpdated, &["other", "shop"]), [true, false, true, true]),
            (about(E::EndpointUpdated, &[]), [true, false, true, true]),
            (about(E::EndpointDisabled, &["shop"]), [true, true, true, true]),
            (reply(OWNER, json!(ana)), [true, true, false, false]),
            (reply(CHANNELS, json!(["shop", "other"])), [true, true, true, true]),
            (reply(CHANNELS, json!(["other"])), [true, false, true, true]),
            (Entry::of(E::TurnStarted).with(OWNER, "an instance").outside("shop", Time(0)), [true; 4]),
        ] {
            let seen = [
                event.is_for(Some(ana), None),
                event.is_for(Some(ana), Some(&shop)),
                event.is_for(Some(ben), None),
                event.is_for(None, None),
            ];
            assert_eq!(seen, told, "{event:?}");
        }
    }

    #[test]
    fn the_decision_of_a_race_is_a_log_line_and_what_merely_happens_is_not() {
        let decisions = [
            E::DuplicateWebhook,
            E::TurnSuperseded,
            E::ModeChangeDuringGeneration,
            E::ModeChangeBeforeSend,
            E::FollowUpCancelled,
            E::LockLost,
            E::SendUncertain,
            E::SendReconciled,
            E::DraftRetired,
        ];
        assert!(decisions.iter().all(|kind| kind.is_decision()));
        let others = [
            E::MessageReceived,
            E::TurnStarted,
            E::MessageQueued,
            E::MessageSent,
            E::DeliveryUpdated,
            E::DraftCreated,
            // It holds a customer's words.
            E::ToolCalled,
        ];
        assert!(!others.iter().any(|kind| kind.is_decision()));
    }
}
