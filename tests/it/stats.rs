//! Statistics by day: the days are those of the business, wherever it is asked.

use serde_json::{Value, json};

use crate::world::{World, on_both_stores};

on_both_stores!(a_day_begins_at_the_midnight_of_the_business);

const HOUR_MS: i64 = 60 * 60 * 1_000;

/// When each day begins, and in how many conversations a contact wrote then.
async fn days(world: &World, query: &str) -> Vec<(Value, Value)> {
    let stats = world.get(&format!("/api/v1/stats?step=day{query}")).await;
    let items = stats["items"].as_array().expect("a list").iter();
    items.map(|item| (item["from"].clone(), item["conversations"].clone())).collect()
}

async fn a_day_begins_at_the_midnight_of_the_business(world: &World) {
    // In Singapore it is midnight at 16:00 in Greenwich.
    let midnight = (world.now().0 / (24 * HOUR_MS) + 1) * 24 * HOUR_MS - 8 * HOUR_MS;
    let midnight = if midnight > world.now().0 { midnight } else { midnight + 24 * HOUR_MS };
    let told = |at: i64| json!(baton::domain::time::Time(at).to_string());
    world.pass(midnight - world.now().0 - 1_000);
    world.chat("6580000001@c.us").writes("M1", "Good night").await;
    world.pass(2_000);
    for (contact, id) in [("6580000002@c.us", "M2"), ("6580000003@c.us", "M3")] {
        world.chat(contact).writes(id, "Good morning").await;
    }
    let (before, after) = (told(midnight - 24 * HOUR_MS), told(midnight));
    world.pass(1_000);
    assert_eq!(days(world, "").await, [(before.clone(), json!(1)), (after.clone(), json!(2))]);
    let since = baton::domain::time::Time(midnight + 500);
    assert_eq!(days(world, &format!("&from={since}")).await, [(after, json!(2))], "the first is told whole");
}
