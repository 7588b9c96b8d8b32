//! The sandbox, as its page and the API play it: what a contact types comes in as a gateway would post it.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::{
    adapters::{
        sandbox::{self, Sandbox},
        scripted::{self, Scripted},
    },
    domain::chat::ChatId,
    flow::{
        instance::channels::{Channel, Channels},
        intake::{Intake, Verdict},
        ledger::Error,
        provider::{Incoming, Provider as _},
    },
    http::ports::{self, Behaviour, Bubble, Screen},
};

/// The sandbox, played by hand.
pub(super) struct SandboxControl {
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) scripted: Arc<Scripted>,
    pub(super) intake: Arc<Intake>,
    pub(super) channels: Arc<Channels>,
}

impl SandboxControl {
    fn channel(&self) -> Result<Arc<Channel>, Error> {
        self.sandbox.channel(&self.channels).ok_or(Error::Gone)
    }

    /// What one body says, as often as the gateway would deliver it.
    async fn take_one(&self, incoming: Incoming) -> Result<Verdict, Error> {
        let channel = self.channel()?;
        let first = self.intake.take_incoming(&channel, incoming.clone()).await?;
        for _ in 1..self.sandbox.faults().copies() {
            self.intake.take_incoming(&channel, incoming.clone()).await?;
        }
        Ok(first)
    }

    fn read(&self, body: &Value) -> Result<Incoming, Error> {
        self.sandbox
            .read(body.to_string().as_bytes())
            .map_err(|unreadable| Error::Refused(unreadable.reason.into()))
    }
}

#[async_trait]
impl ports::SandboxDoor for SandboxControl {
    fn is_there(&self) -> bool {
        self.channel().is_ok()
    }

    fn behaviour(&self) -> Behaviour {
        let (provider, model) = (self.sandbox.faults(), self.scripted.faults());
        Behaviour {
            model_delay_ms: i64::try_from(model.delay_ms).unwrap_or(i64::MAX),
            model_fault: model.fault,
            provider_delay_ms: i64::try_from(provider.delay_ms).unwrap_or(i64::MAX),
            provider_fault: provider.fault,
            duplicate_webhooks: provider.duplicate_webhooks,
        }
    }

    fn behave(&self, behaviour: Behaviour) {
        self.scripted.set_faults(scripted::Faults {
            delay_ms: behaviour.model_delay_ms.unsigned_abs(),
            fault: behaviour.model_fault,
        });
        self.sandbox.set_faults(sandbox::Faults {
            delay_ms: behaviour.provider_delay_ms.unsigned_abs(),
            fault: behaviour.provider_fault,
            duplicate_webhooks: behaviour.duplicate_webhooks,
        });
    }

    fn screen(&self, chat: &ChatId) -> Screen {
        let messages = self.sandbox.shown(chat).into_iter().map(|shown| Bubble {
            id: shown.id,
            from_contact: !shown.from_us,
            text: shown.text,
            at: shown.at,
            status: shown.status,
        });
        Screen { typing: self.sandbox.typing(chat), messages: messages.collect() }
    }

    async fn take(&self, bodies: Vec<Value>) -> Result<Vec<Verdict>, Error> {
        if let [body] = &bodies[..] {
            return Ok(vec![self.take_one(self.read(body)?).await?]);
        }
        let channel = self.channel()?;
        let mut arrivals = Vec::with_capacity(bodies.len());
        for body in &bodies {
            // Contacts of the sandbox do nothing but write.
            if let Incoming::Message(arrival) = self.read(body)? {
                arrivals.push(arrival);
            }
        }
        let first = self.intake.take_together(&channel, arrivals.clone()).await?;
        for _ in 1..self.sandbox.faults().copies() {
            self.intake.take_together(&channel, arrivals.clone()).await?;
        }
        Ok(first)
    }

    async fn phone_message(&self, chat: &ChatId, text: String) -> Result<Verdict, Error> {
        let incoming = self.sandbox.phone_message(chat, &text);
        self.take_one(incoming).await
    }
}
