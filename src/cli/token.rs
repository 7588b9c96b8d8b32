//! `baton token`: tokens of the API. Only their hashes are kept: a token is shown once, when it is made.

use anyhow::{Context as _, bail};
use uuid::Uuid;

use super::{
    agent::require_channels,
    print::{self, Format},
};
use crate::{
    app::{self, Opened},
    config::Settings,
    domain::{event::actor, time::Time},
    flow::back_office::{
        audit::{Audited, Deed},
        people,
        registry::{self, Role},
    },
    http::wire,
};

/// Tokens of the API: make, list, revoke
#[derive(Debug, clap::Subcommand)]
pub(super) enum Token {
    /// Make a token. It is shown this once
    Create(TokenArgs),
    /// The tokens there are, newest first
    List {
        #[command(flatten)]
        format: Format,
    },
    /// Remove a token: within seconds it stops working
    Revoke {
        /// Its id, as `list` shows it
        #[arg(value_parser = super::id_of("baton token list"))]
        id: Uuid,
    },
}

/// What a token is to be.
#[derive(Debug, clap::Args)]
pub(super) struct TokenArgs {
    /// What it is for
    #[arg(value_parser = people::checked_name)]
    name: String,
    /// admin (everything), agent (read and answer), read, or metrics (on all channels)
    #[arg(long, value_name = "ROLE", default_value = "agent")]
    role: Role,
    /// On these channels only, comma-separated. Unset: on all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    channels: Option<Vec<String>>,
    /// As this agent, by e-mail address or id: it may do what both may, and what it writes is theirs. Unset: as nobody
    #[arg(long, value_name = "EMAIL_OR_ID")]
    agent: Option<String>,
    /// When it expires, such as 2026-12-31T00:00:00Z. Unset: never
    #[arg(long, value_name = "TIME", value_parser = super::to_time)]
    expires_at: Option<Time>,
    #[command(flatten)]
    format: Format,
}

impl Token {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let opened = app::open(settings).await?;
        match self {
            Self::Create(args) => {
                let format = args.format;
                let (token, secret) = create(&opened, args).await?;
                if format.json {
                    print::json(&wire::NewToken { kept: token.into(), token: secret })?;
                } else {
                    print::text(&secret)?;
                }
            }
            Self::List { format } => {
                let tokens = opened.tokens.all_tokens().await?;
                if format.json {
                    print::json(&tokens.into_iter().map(wire::Token::from).collect::<Vec<_>>())?;
                } else {
                    print::text(&as_table(&tokens, &opened.people.agents().await?))?;
                }
            }
            Self::Revoke { id } => {
                let token = opened.tokens.token_of(id).await?;
                let is_revoked = opened.tokens.revoke_token(id).await?;
                let Some(token) = token.filter(|_| is_revoked) else {
                    bail!("there is no token {id}: `baton token list` shows which there are");
                };
                let now = opened.ledger.now().await?;
                opened.audit.note(&Audited::new(now, actor::SHELL, Deed::TokenRevoked).to(id)).await?;
                tell(&opened, &token, "removed", now).await?;
                print::text("revoked")?;
            }
        }
        Ok(())
    }
}

async fn create(opened: &Opened, args: TokenArgs) -> anyhow::Result<(registry::Token, String)> {
    require_channels(opened, args.channels.as_deref()).await?;
    let now = opened.ledger.now().await?;
    if args.expires_at.is_some_and(|at| at <= now) {
        bail!("--expires-at must be in the future");
    }
    let agent = match &args.agent {
        Some(who) => Some(find(opened, who).await?),
        None => None,
    };
    let limits = [args.channels.as_deref(), agent.as_ref().and_then(|agent| agent.channels.as_deref())];
    if let Some(why) = registry::opens_nothing(args.role, limits) {
        bail!("{why}");
    }
    let token = registry::Token {
        id: Uuid::now_v7(),
        name: args.name,
        role: args.role,
        channels: args.channels,
        agent: agent.map(|agent| agent.id),
        expires_at: args.expires_at,
        created_at: now,
    };
    let (secret, hash) = fresh()?;
    opened.tokens.add_token(&token, &hash).await?;
    let deed = Audited::new(now, actor::SHELL, Deed::TokenCreated).to(token.id);
    opened.audit.note(&deed.with("name", token.name.as_str()).with("role", token.role.as_str())).await?;
    tell(opened, &token, "added", now).await?;
    Ok((token, secret))
}

async fn tell(
    opened: &Opened,
    token: &registry::Token,
    action: &'static str,
    now: Time,
) -> anyhow::Result<()> {
    let event = registry::token_updated(token, action, actor::SHELL, now);
    Ok(opened.ledger.keep(vec![event], Vec::new()).await?)
}

/// The agent with that address or id, who must be let in.
async fn find(opened: &Opened, who: &str) -> anyhow::Result<people::Agent> {
    let found = match Uuid::try_parse(who) {
        Ok(id) => opened.people.agent(id).await?,
        Err(_) => opened.people.agent_of(who).await?.map(|(agent, _)| agent),
    };
    let agent = found.with_context(|| format!("there is no agent {who}"))?;
    if agent.is_disabled {
        bail!("{} is disabled: a token that acts as them opens nothing", agent.email);
    }
    Ok(agent)
}

/// A token that nobody can guess, and the hash by which it is known.
pub(super) fn fresh() -> anyhow::Result<(String, String)> {
    let secret = registry::Token::fresh_secret().context("the system provides no randomness")?;
    let hash = people::hash_of(&secret);
    Ok((secret, hash))
}

fn as_whom(token: &registry::Token, agents: &[people::Agent]) -> String {
    let Some(id) = token.agent else { return "itself".to_owned() };
    agents.iter().find(|agent| agent.id == id).map_or_else(|| id.to_string(), |agent| agent.email.clone())
}

fn as_table(tokens: &[registry::Token], agents: &[people::Agent]) -> String {
    let row = |token: &registry::Token| {
        [
            token.id.to_string(),
            token.name.clone(),
            token.role.to_string(),
            token.channels.as_ref().map_or_else(|| "all".to_owned(), |names| names.join(",")),
            as_whom(token, agents),
            token.expires_at.map_or_else(|| "never".to_owned(), |at| at.to_string()),
            token.created_at.to_string(),
        ]
    };
    let rows: Vec<_> = tokens.iter().map(row).collect();
    print::table(["ID", "NAME", "ROLE", "CHANNELS", "ACTS AS", "EXPIRES", "MADE"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_token_is_long_enough_unlike_any_other_and_known_by_its_hash() {
        let (one, hash) = fresh().expect("randomness");
        let (other, _) = fresh().expect("randomness");
        assert!(one.len() >= 40 && one != other);
        assert_eq!(hash, people::hash_of(&one));
    }
}
