//! `baton agent`: the people of the business. A sign-in link is shown once; a password is asked for, never an argument.

use anyhow::{Context as _, bail};
use uuid::Uuid;

use super::{
    dead_letters::shell,
    mode::no_channel,
    password,
    print::{self, Format},
};
use crate::{
    app::{self, Opened},
    config::Settings,
    domain::{event::actor, time::Time},
    flow::back_office::{
        audit::{Audited, Deed},
        people::{self, Change, Outcome, Role, password::Passwords},
        sign_in::fresh_link,
    },
    http::{site::sign_in_link, wire},
};

/// People who answer: add, list, disable, set a password, make a sign-in link
#[derive(Debug, clap::Subcommand)]
pub(super) enum Agent {
    /// Add an agent. The link that signs them in is shown this once: it is good once, for 24 hours
    Add(AgentArgs),
    /// The agents there are, by name
    List {
        #[command(flatten)]
        format: Format,
    },
    /// Disable an agent: within seconds their sessions, links and tokens stop working, and nothing is assigned to them
    Disable {
        /// Their e-mail address
        email: String,
    },
    /// Set an agent's password, asked for on the terminal, else the first line of stdin. Their sessions end
    Password {
        /// Their e-mail address
        email: String,
    },
    /// Make a link that signs an agent in: good once, for 24 hours
    Link {
        /// Their e-mail address
        email: String,
    },
}

/// What an agent is to be.
#[derive(Debug, clap::Args)]
pub(super) struct AgentArgs {
    /// The address with which they sign in
    #[arg(value_parser = people::checked_email)]
    email: String,
    /// Their name. Unset: what is before the @
    #[arg(long, value_parser = people::checked_name)]
    name: Option<String>,
    /// admin (everything) or agent (read and answer)
    #[arg(long, value_name = "ROLE", default_value = "agent")]
    role: Role,
    /// On these channels only, comma-separated. Unset: on all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    channels: Option<Vec<String>>,
    #[command(flatten)]
    format: Format,
}

impl Agent {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let opened = app::open(settings).await?;
        match self {
            Self::Add(args) => add(&opened, settings, args).await?,
            Self::List { format } => {
                let agents = opened.people.agents().await?;
                if format.json {
                    print::json(&agents.into_iter().map(wire::Agent::from).collect::<Vec<_>>())?;
                } else {
                    print::text(&as_table(&agents))?;
                }
            }
            Self::Disable { email } => {
                let agent = find(&opened, &email).await?;
                change(&opened, &agent, &Change { is_disabled: Some(true), ..Change::default() }).await?;
                note(&opened, Deed::AgentChanged, &agent, &["disabled"]).await?;
                match opened.desk.free(agent.id, &[], &shell()).await? {
                    0 => print::text("disabled")?,
                    1 => print::text("disabled; a conversation of theirs is free")?,
                    freed => print::text(&format!("disabled; {freed} conversations of theirs are free"))?,
                }
            }
            Self::Password { email } => {
                let agent = find(&opened, &email).await?;
                let password = password::ask().await?;
                if let Err(wrong) = people::check_password(&password) {
                    bail!("the password {wrong}");
                }
                let hash = Passwords::default().hash(password).await?;
                change(&opened, &agent, &Change { password: Some(hash), ..Change::default() }).await?;
                note(&opened, Deed::AgentChanged, &agent, &["password"]).await?;
                print::text("set")?;
            }
            Self::Link { email } => {
                let agent = find(&opened, &email).await?;
                if agent.is_disabled {
                    bail!("{} is disabled: a link would not let them in", agent.email);
                }
                let now = opened.ledger.now().await?;
                let link = app::invite(&*opened.people, &agent, &base(settings), now).await?;
                note(&opened, Deed::LinkMade, &agent, &[]).await?;
                print::text(&link)?;
            }
        }
        Ok(())
    }
}

async fn add(opened: &Opened, settings: &Settings, args: AgentArgs) -> anyhow::Result<()> {
    require_channels(opened, args.channels.as_deref()).await?;
    let now = opened.ledger.now().await?;
    let before_at = args.email.split('@').next().unwrap_or_default();
    let agent = people::Agent {
        id: Uuid::now_v7(),
        name: args.name.unwrap_or_else(|| before_at.chars().take(people::NAME_MAX).collect()),
        email: args.email,
        role: args.role,
        channels: args.channels,
        is_disabled: false,
        created_at: now,
        updated_at: now,
    };
    let (link, secret) = fresh_link(agent.id, now).context("the system provides no randomness")?;
    if !opened.people.add_agent(&agent, None, Some(&link)).await? {
        bail!("there is an agent with the address {}", agent.email);
    }
    note(opened, Deed::AgentAdded, &agent, &[]).await?;
    tell(opened, &agent, agent.channels.as_deref(), "added", now).await?;
    let link = sign_in_link(&base(settings), &secret);
    if args.format.json {
        print::json(&wire::NewAgent { kept: agent.into(), link: Some(link) })?;
    } else {
        print::text(&link)?;
    }
    Ok(())
}

/// For who asks later what was done from a shell.
async fn note(opened: &Opened, deed: Deed, agent: &people::Agent, changed: &[&str]) -> anyhow::Result<()> {
    let deed = Audited::new(opened.ledger.now().await?, actor::SHELL, deed).to(agent.id);
    let deed = if changed.is_empty() { deed } else { deed.with("changed", changed.to_vec()) };
    Ok(opened.audit.note(&deed).await?)
}

/// Notifies those who have the people open.
async fn tell(
    opened: &Opened,
    agent: &people::Agent,
    before: Option<&[String]>,
    action: &'static str,
    now: Time,
) -> anyhow::Result<()> {
    let event = people::updated(agent, before, action, actor::SHELL, now);
    Ok(opened.ledger.keep(vec![event], Vec::new()).await?)
}

fn base(settings: &Settings) -> String {
    app::base(settings, settings.listen)
}

/// Refuses names that no channel has.
pub(super) async fn require_channels(opened: &Opened, names: Option<&[String]>) -> anyhow::Result<()> {
    let known = opened.registry.channels().await?;
    let is_known = |name: &&String| known.iter().any(|channel| channel.name == **name);
    if let Some(strange) = names.into_iter().flatten().find(|name| !is_known(name)) {
        let known = known.iter().map(|channel| channel.name.clone()).collect();
        bail!("{}", no_channel(strange, known));
    }
    Ok(())
}

async fn find(opened: &Opened, email: &str) -> anyhow::Result<people::Agent> {
    let found = opened.people.agent_of(email).await?;
    found.map(|(agent, _)| agent).with_context(|| format!("there is no agent with the address {email}"))
}

async fn change(opened: &Opened, agent: &people::Agent, change: &Change) -> anyhow::Result<()> {
    let now = opened.ledger.now().await?;
    match opened.people.change_agent(agent.id, change, now).await? {
        Outcome::Changed => {
            let channels = change.channels.clone().unwrap_or_else(|| agent.channels.clone());
            let after = people::Agent { channels, ..agent.clone() };
            tell(opened, &after, agent.channels.as_deref(), "changed", now).await
        }
        Outcome::LastAdmin => bail!("{} is the last admin: make another one first", agent.email),
        Outcome::Gone => bail!("{} is gone", agent.email),
        Outcome::Taken => bail!("another agent has this address"),
    }
}

fn as_table(agents: &[people::Agent]) -> String {
    let row = |agent: &people::Agent| {
        [
            agent.name.clone(),
            agent.email.clone(),
            agent.role.to_string(),
            agent.channels.as_ref().map_or_else(|| "all".to_owned(), |names| names.join(",")),
            if agent.is_disabled { "disabled" } else { "let in" }.to_owned(),
            agent.id.to_string(),
        ]
    };
    let rows: Vec<_> = agents.iter().map(row).collect();
    print::table(["NAME", "E-MAIL", "ROLE", "CHANNELS", "STATE", "ID"], &rows)
}
