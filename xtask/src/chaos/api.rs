//! Baton's API, as somebody uses it who knows that instances die: asks another one when one does not answer.
//!
//! In: a question. Out: the first answer that is one.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    courier::WEBHOOK_TOKEN,
    gateway::{CHANNELS, channel_name, instance_of},
    instance::{API_TOKEN, Instance},
};
use crate::fakes::wire::Answer;

/// One instance is waited for so long; a switch may take ten seconds to settle.
const ANSWER_LIMIT: Duration = Duration::from_secs(12);
const AGAIN: Duration = Duration::from_millis(300);
/// By then one of three should have answered.
const LIMIT: Duration = Duration::from_secs(120);

/// Whoever asks.
#[derive(Clone)]
pub(super) struct Api {
    pub(super) instances: Arc<Vec<Instance>>,
}

impl Api {
    /// Asks until some instance gives an answer that is no excuse. A question may so be heard several times.
    pub(super) async fn ask(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
        dice: &mut fastrand::Rng,
    ) -> Result<Answer> {
        let began = Instant::now();
        let token = format!("Bearer {API_TOKEN}");
        let mut headers = vec![("Authorization", token.as_str())];
        headers.extend(key.map(|key| ("Idempotency-Key", key)));
        let body = body.map(Value::to_string).unwrap_or_default();
        while began.elapsed() < LIMIT {
            let living: Vec<&Instance> = self.instances.iter().filter(|it| it.seems_alive()).collect();
            if let Some(instance) = dice.choice(living)
                && let Ok(answer) = instance.client.ask(method, path, &headers, &body, ANSWER_LIMIT).await
                && answer.status < 500
                // One that stood still found the request late.
                && answer.status != 408
            {
                return Ok(answer);
            }
            sleep(AGAIN).await;
        }
        bail!("no instance answered {method} {path} within {} s", LIMIT.as_secs())
    }

    /// Reads something that is there.
    pub(super) async fn get(&self, path: &str, dice: &mut fastrand::Rng) -> Result<Value> {
        let answer = self.ask("GET", path, None, None, dice).await?;
        if answer.status != 200 {
            bail!("GET {path} was answered {}: {}", answer.status, answer.body);
        }
        Ok(answer.body)
    }

    /// Makes the channels.
    pub(super) async fn make_channels(&self, dice: &mut fastrand::Rng) -> Result<()> {
        for channel in 0..CHANNELS {
            let body = json!({ "name": channel_name(channel), "provider": "green_api", "token": "chaos-gateway-token",
                "instance": instance_of(channel).to_string(), "webhook_token": WEBHOOK_TOKEN });
            let answer = self.ask("POST", "/api/v1/channels", None, Some(&body), dice).await?;
            if !matches!(answer.status, 201 | 409) {
                bail!("a channel was not made: {} {}", answer.status, answer.body);
            }
        }
        Ok(())
    }
}
