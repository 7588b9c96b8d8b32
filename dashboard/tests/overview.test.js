// How it stands now, as the overview tells it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { rest } from "./page.js";
import { drawn } from "./drawn.js";
import { Used } from "../app/inbox/lanes.js";
import { Now } from "../app/pages/overview/now.js";
import { preferences } from "../app/state/preferences.js";
import { LANGUAGES, fetchPageWords } from "../app/words/index.js";
import { dayOf, lastOf } from "../app/pages/overview/overview.js";
import { plotsOf } from "../app/pages/overview/plots.js";

await fetchPageWords();

const nothing = { inbox: 0, inbox_oldest_ms: 0, outbox: {}, outbox_oldest_ms: 0, dead_letters: {}, conversations: {}, attention: {}, follow_ups: 0 };
/** @param {any} given */
const told = (given) => drawn(Now({ now: nothing, needed: null, channels: [], channel: "", ...given }));

test("whoever waits for a person is told of before anybody was called", () => {
  assert.match(told({}), /A person is needed 0 nobody waits for a person/);
  assert.match(told({ needed: 10 }), /A person is needed 10 To the inbox/);
  assert.match(told({ needed: 3, now: { ...nothing, attention: { stale: 1 } } }), /A person is needed 3 /);
  assert.match(told({ now: { ...nothing, attention: { stale: 1 } } }), /A person is needed 1 /, "by the calls, until the counts are there");
});

test("a day of the business is called by its name, wherever whoever looks sits", (t) => {
  const here = process.env.TZ;
  t.after(() => (here === undefined ? delete process.env.TZ : (process.env.TZ = here)));
  const midnights = { Singapore: "2026-11-29T16:00:00Z", Kathmandu: "2026-11-29T18:15:00Z", UTC: "2026-11-30T00:00:00Z", "New York": "2026-11-30T05:00:00Z" };
  for (const zone of ["America/Los_Angeles", "America/New_York", "UTC", "Asia/Singapore", "Pacific/Auckland"]) {
    process.env.TZ = zone;
    for (const [of, from] of Object.entries(midnights)) assert.equal(dayOf(from), "Nov 30", `${of}, from ${zone}`);
  }
  // Also where it is a day ahead of UTC.
  for (const zone of ["Pacific/Auckland", "Australia/Sydney"]) {
    process.env.TZ = zone;
    assert.equal(dayOf("2026-11-29T11:00:00Z"), "Nov 30", zone);
  }
});

test("a range has as many days as it says, wherever whoever looks sits", () => {
  const days = (count) => Array.from({ length: count }, (_, day) => day);
  assert.deepEqual(lastOf(days(8), "week"), [1, 2, 3, 4, 5, 6, 7], "with one before, that had begun there");
  assert.deepEqual(lastOf(days(6), "week"), days(6));
  assert.deepEqual([lastOf(days(31), "month").length, lastOf(days(24), "day").length], [30, 24]);
});

/** What a time in which nothing happened is told as. @param {any} given */
function about(title, ...given) {
  const none = { p50: null, p90: null };
  const quiet = { from: "", conversations: 0, outcomes: {}, turns: {}, first_answer_ms: none, human_answer_ms: none, tokens: 0, cost: null, wasted_cost: null, drafts: {}, draft_edit_distance: none, follow_ups: {} };
  const places = given.map((_, nth) => ({ short: `${nth}`, whole: `day ${nth + 1}` }));
  return plotsOf(given.map((it) => ({ ...quiet, ...it })), { places, head: "Day" }).find((plot) => plot.title === title).about;
}

test("how much is changed of the AI's suggestions is told beside how many", () => {
  const drafts = (sent, edited, p50, p90) => ({ drafts: { sent, edited }, draft_edit_distance: { p50, p90 } });
  const title = "Drafts, by what became of them";
  assert.equal(about(title, drafts(1, 0, null, null)), "1 decided: 100 % accepted, 100 % as written.");
  assert.equal(about(title, drafts(1, 1, 2, 5), drafts(1, 1, 3, 12), drafts(0, 0, null, null)),
    "4 decided: 100 % accepted, 50 % as written. Words changed in an edited one: half up to 3, nine of ten up to 12 (day 2).");
  assert.equal(about(title, {}), null, "of nothing nothing is told");
});

test("what the cost does not count is said with it", () => {
  const told = about("Cost of the model", { cost: 2, wasted_cost: 0.5 });
  assert.equal(told, "2 in all, of which 0.5 (25 %) was wasted; an answer stopped while it was written is not counted. In the currency of your prices.");
});

test("an empty plot says so in the language that is spoken now", async (t) => {
  const empty = () => plotsOf([], { places: [], head: "Day" })[0].none;
  assert.equal(empty(), "Nothing in this time.");
  t.after(() => void (preferences.value = { ...preferences.peek(), language: null }));
  preferences.value = { ...preferences.peek(), language: "es" };
  await LANGUAGES.es.load();
  await rest();
  assert.equal(empty(), "Nada en este periodo.");
});

test("what a conversation has used is told, and its cost where there are prices", () => {
  const used = (input_tokens, output_tokens, cost) => drawn(Used({ total: { input_tokens, output_tokens, cost } }));
  assert.equal(used(12_000, 345, 0.01234), "In all: 12,345 tokens, cost 0.0123");
  assert.equal(used(12_000, 345, null), "In all: 12,345 tokens");
  assert.equal(used(0, 0, 0), "", "where nothing was used");
});
