use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use serde_json::Value;
use uuid::Uuid;

use super::NOW;
use crate::{
    domain::{
        chat::ChatId,
        faults::{ModelFault, ProviderFault},
        message::DeliveryState,
    },
    flow::{intake::Verdict, ledger::Error},
    http::ports::{Behaviour, Bubble, SandboxDoor, Screen},
};

/// A sandbox with one message on its phone.
pub(in super::super) struct Toy {
    pub(in super::super) behaviour: Mutex<Behaviour>,
    /// Its channel was removed.
    pub(in super::super) is_removed: AtomicBool,
}

impl Default for Toy {
    fn default() -> Self {
        let behaviour = Behaviour {
            model_delay_ms: 0,
            model_fault: ModelFault::None,
            provider_delay_ms: 5,
            provider_fault: ProviderFault::None,
            duplicate_webhooks: false,
        };
        Self { behaviour: Mutex::new(behaviour), is_removed: AtomicBool::new(false) }
    }
}

#[async_trait]
impl SandboxDoor for Toy {
    fn is_there(&self) -> bool {
        !self.is_removed.load(Ordering::SeqCst)
    }

    fn behaviour(&self) -> Behaviour {
        *self.behaviour.lock().unwrap()
    }

    fn behave(&self, behaviour: Behaviour) {
        *self.behaviour.lock().unwrap() = behaviour;
    }

    fn screen(&self, _: &ChatId) -> Screen {
        let (id, text) = ("5A1".to_owned(), "hello".to_owned());
        let bubble = Bubble { id, from_contact: true, text, at: NOW, status: DeliveryState::Read };
        Screen { typing: true, messages: vec![bubble] }
    }

    async fn take(&self, bodies: Vec<Value>) -> Result<Vec<Verdict>, Error> {
        Ok(bodies.iter().map(|_| Verdict::Accepted(Some(Uuid::nil()))).collect())
    }

    async fn phone_message(&self, _: &ChatId, _: String) -> Result<Verdict, Error> {
        Ok(Verdict::Accepted(None))
    }
}
