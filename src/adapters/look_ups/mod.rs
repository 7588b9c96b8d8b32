//! The services of a business that know what the model asks. In: a question of the flow. Out: one POST, signed, and the
//! text that came back, or how it failed.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use reqwest::{Client, header::HeaderMap};
use serde_json::json;

use super::model_server::{Server, Settings, failed, said, signed};
use crate::{
    domain::tool::Tool,
    flow::{
        generator::{
            Failure, FailureKind,
            look_ups::{LookUps, Question},
        },
        notify::signature::Key,
    },
};

/// Longest answer: the model reads all of it, in every round that follows.
const ANSWER_MAX_BYTES: usize = 32 << 10;

/// The settings name nothing that can be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// The address of that tool.
    #[error("the url of the tool {0} is not an http or https address")]
    Url(String),
    /// There is a tool to ask, and no key, or none that can be one.
    #[error("the key to sign with is not whsec_ and the base64 of at least 24 bytes")]
    Key,
}

/// The services, by the names of their tools.
#[derive(Debug)]
pub struct Services(Option<(Key, BTreeMap<String, Server>)>);

impl Services {
    /// Those that are to be asked among these tools. The client should neither follow redirects nor repeat requests.
    pub fn new(tools: &[Tool], secret: Option<&str>, client: &Client) -> Result<Self, Invalid> {
        let server = |tool: &Tool| {
            let look_up = tool.look_up.as_ref()?;
            let limit = Duration::from_millis(look_up.timeout_ms);
            let settings =
                Settings { base_url: look_up.url.clone(), api_key: None, idle: limit, total: limit };
            let server = Server::new(&settings, client.clone(), &[], &[], HeaderMap::new());
            Some(
                server.map(|server| (tool.name.clone(), server)).map_err(|_| Invalid::Url(tool.name.clone())),
            )
        };
        let servers: BTreeMap<_, _> = tools.iter().filter_map(server).collect::<Result<_, _>>()?;
        if servers.is_empty() {
            return Ok(Self(None));
        }
        let key = secret.and_then(|secret| Key::read(secret.trim())).ok_or(Invalid::Key)?;
        Ok(Self(Some((key, servers))))
    }
}

#[async_trait]
impl LookUps for Services {
    async fn ask(&self, question: Question<'_>) -> Result<String, Failure> {
        let found = self.0.as_ref().and_then(|(key, all)| Some((key, all.get(&question.asking.tool)?)));
        // The file of the tools was changed, and Baton has not started again.
        let (key, server) = found.ok_or_else(|| failed(FailureKind::Refused, "nobody is known to ask"))?;
        let (id, body) = (id(&question), body(&question));
        let answer = server.answer(signed(key, &id, &body), body, ANSWER_MAX_BYTES).await?;
        match String::from_utf8(answer) {
            Ok(text) if said(&text) => Ok(text),
            Ok(_) => Err(failed(FailureKind::Empty, "the answer is empty")),
            Err(_) => Err(failed(FailureKind::Malformed, "the answer is no text")),
        }
    }
}

/// By which a service knows a question again. No further attempt of ours has the same: it is another turn.
fn id(question: &Question<'_>) -> String {
    format!("{}-call-{}", question.about.turn, question.number)
}

fn body(question: &Question<'_>) -> String {
    let about = question.about;
    json!({
        "type": "look_up",
        "id": id(question),
        "tool": question.asking.tool,
        "arguments": question.asking.arguments,
        "channel": question.channel,
        "conversation_id": about.conversation.to_string(),
        "turn_id": about.turn.to_string(),
        "chat_id": about.chat,
        "phone": about.phone,
        "sender": about.sender,
        "contact_name": about.contact_name,
    })
    .to_string()
}
