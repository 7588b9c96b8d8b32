//! What a business has not said to its assistant, and whom it has forgotten.

use super::Finding;
use crate::{
    config::{AiProvider, Settings},
    domain::{conversation::Status, mode::Mode, time::Time},
    flow::{
        archive::{Archive, ConversationFilter, Overview, PageOf},
        back_office::registry::Channel,
        ledger::Error,
        provider::SANDBOX,
    },
};

/// A conversation that people have had for longer was perhaps forgotten.
const DAY_MS: i64 = 86_400_000;
/// How many of them are read at once, and how many times: those that nobody has written in for longest come last.
const ROWS: usize = 200;
const PAGES_MAX: usize = 50;

/// Which assistants know nothing of their business.
pub(super) fn look_at_prompts(settings: &Settings, rows: &[Channel]) -> Option<Finding> {
    if settings.ai_prompt_file.is_some() || settings.provider() == AiProvider::None {
        return None;
    }
    let has_none = |row: &&Channel| row.settings.get("prompt").is_none_or(serde_json::Value::is_null);
    let numbers = || rows.iter().filter(|row| row.provider != SANDBOX);
    let without: Vec<&str> = numbers().filter(has_none).map(|row| row.name.as_str()).collect();
    if without.is_empty() && numbers().next().is_some() {
        return None;
    }
    let whose = if without.is_empty() { String::new() } else { format!("{}: ", without.join(", ")) };
    Some(Finding::odd(
        "prompt",
        format!("{whose}the assistant knows nothing of the business: it has the built-in prompt"),
        "set BATON_AI_PROMPT_FILE, or a prompt for the channel",
    ))
}

/// Conversations that people have had for long.
pub(super) async fn look_at_people(archive: &dyn Archive, now: Time) -> Result<Option<Finding>, Error> {
    let filter = ConversationFilter {
        mode: Some(Mode::Human),
        status: Some(Status::Open),
        ..ConversationFilter::default()
    };
    let since = now.plus_ms(-DAY_MS);
    let is_left =
        |it: &&Overview| it.conversation.mode.changed_at < since && it.conversation.mode.until.is_none();
    let (mut left, mut cursor) = (0, None);
    for _ in 0..PAGES_MAX {
        let page = archive.conversations(&filter, &PageOf { limit: ROWS, cursor }).await?;
        left += page.items.iter().filter(is_left).count();
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let more = if cursor.is_some() { " or more" } else { "" };
    Ok((left > 0).then(|| {
        Finding::odd(
            "people",
            format!("{left}{more} open conversations have been in HUMAN for more than a day"),
            "give them back or close them, or set BATON_HUMAN_HOLD_MS",
        )
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::adapters::test_stores::{NOW, TestStore, begun, on_both_stores};

    on_both_stores!(a_conversation_that_was_forgotten_is_found_behind_all_the_newer_ones);

    fn row(name: &str, provider: &str, prompt: Value) -> Channel {
        Channel {
            settings: Map::from_iter([("prompt".to_owned(), prompt)]),
            ..Channel::new(name, provider, NOW)
        }
    }

    #[test]
    fn channels_without_a_prompt_are_named_and_none_where_each_has_its_own() {
        let mut settings = Settings::default();
        settings.ai_provider = Some(AiProvider::OpenAi);
        let own = || json!("You sell flats.");
        let with_ai = settings.clone();
        let told = |rows: &[Channel]| look_at_prompts(&with_ai, rows).map(|finding| finding.detail);
        let knows_nothing = "the assistant knows nothing of the business: it has the built-in prompt";
        let sandbox = row("sandbox", "sandbox", json!(null));
        assert_eq!(told(&[]).as_deref(), Some(knows_nothing));
        assert_eq!(told(std::slice::from_ref(&sandbox)).as_deref(), Some(knows_nothing));
        assert_eq!(told(&[row("shop", "green_api", own()), sandbox]), None);
        let rows = [
            row("bar", "green_api", json!(null)),
            row("cafe", "green_api", own()),
            row("inn", "green_api", Value::Null),
        ];
        assert_eq!(told(&rows), Some(format!("bar, inn: {knows_nothing}")));
        settings.ai_provider = Some(AiProvider::None);
        assert!(look_at_prompts(&settings, &rows).is_none());
    }

    async fn a_conversation_that_was_forgotten_is_found_behind_all_the_newer_ones<S: TestStore>(store: &S) {
        for number in 0..=ROWS {
            let mut conversation = begun("shop", &format!("658{number:07}@c.us"));
            conversation.mode.mode = Mode::Human;
            conversation.mode.changed_at = NOW.plus_ms(-DAY_MS / 2);
            conversation.last_message_at = Some(NOW);
            if number == 0 {
                conversation.mode.changed_at = NOW.plus_ms(-2 * DAY_MS);
                conversation.last_message_at = Some(NOW.plus_ms(-2 * DAY_MS));
            }
            store.keep_conversation(&conversation).await;
        }
        let found = look_at_people(store, NOW).await.expect("reads").map(|finding| finding.detail);
        assert_eq!(found.as_deref(), Some("1 open conversations have been in HUMAN for more than a day"));
    }
}
