// The pages of the channels, and what the server may say there.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import "./page.js";
import { drawn, having } from "./drawn.js";
import { Reached } from "../app/pages/channels/arrival.js";
import { Given } from "../app/pages/channels/connect.js";
import { isFetched, isTokenOffered } from "../app/pages/channels/receiving.js";
import { GROUPS, OWN } from "../app/pages/channels/rule_list.js";
import { toldOf, valueOf } from "../app/pages/channels/rules.js";
import { StateTag, StateWords } from "../app/pages/channels/state.js";
import { KNOWN } from "../app/parts/linked.js";
import { preferences } from "../app/state/preferences.js";
import { en } from "./english.js";
import { fetchPageWords, t, word } from "../app/words/index.js";

await fetchPageWords();

const source = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
/** What stands in a source between two marks, and there in quotes of this kind. */
const named = (path, begin, end, quote) => {
  const [, within] = source(path).split(begin);
  return [...within.split(end)[0].matchAll(quote)].map(([, name]) => name);
};
const STRING = /"([^"]+)"/g;

/** States that the server makes itself, where Green API names none. */
const made = [
  ...named("src/flow/provider.rs", "pub const CREDENTIALS_REFUSED", ";", STRING),
  ...named("src/adapters/green_api/mod.rs", "const UNKNOWN", ";", STRING),
  ...named("src/adapters/green_api/send.rs", "let states = [", "];", /, "([^"]+)"\)/g),
];
/** States for which the runbook says what to do: each row may name several. */
const documented = named("docs/runbook/channel-state.md", "| state | do |", "## ", /^\| (.+?) \|/gm)
  .flatMap((row) => [...row.matchAll(/`(\w+)`/g)].map(([, state]) => state));

test("every state that the server makes or the runbook names is told in words, with what to do", () => {
  // All three places were found.
  for (const state of ["credentials_refused", "unknown", "expired"]) assert.ok(made.includes(state), state);
  for (const state of new Set([...made, ...documented, ...KNOWN])) {
    const channel = { name: "shop", provider: "green_api", state };
    assert.notEqual(drawn(StateTag({ channel })), state, state);
    assert.doesNotMatch(drawn(StateWords({ channel })), new RegExp(t("channels.other_means").slice(0, 30)), state);
    const groups = ["channel_state", "channel_state_means", ...(state === "authorized" ? [] : ["channel_state_todo"])];
    assert.deepEqual(groups.map((group) => `${group}.${state}`).filter((key) => !(key in en)), []);
  }
});

test("the runbook says what to do in every state that the server makes or the page knows", () => {
  const missing = [...new Set([...made, ...KNOWN])].filter((state) => state !== "authorized" && !documented.includes(state));
  assert.deepEqual(missing, []);
});

test("a token that is refused is named as the cause", () => {
  const words = drawn(StateWords({ channel: { name: "shop", provider: "green_api", state: "credentials_refused" } }));
  assert.match(words, /apiTokenInstance.*What to do:.*Credentials/);
});

test("what was pasted is done unless Green API refuses it, and then is said where it was pasted", () => {
  const given = (state) => Given({ name: "shop", channel: state === null ? null : { name: "shop", provider: "green_api", state } });
  for (const state of [null, "authorized", "notAuthorized"]) assert.deepEqual([having(given(state), "isDone").isDone, drawn(given(state)).includes("What to do")], [true, false], state);
  for (const state of ["credentials_refused", "deleted"]) {
    assert.equal(having(given(state), "isDone").isDone, false, state);
    assert.match(drawn(given(state)), /What to do:.*under Credentials\. Credentials$/, state);
  }
});

test("every rule of a channel has a place, a name, a hint, and words for its unit and its values", () => {
  const keys = [...named("src/config/channel.rs", "\noverridable! {", "\n}", /(\w+)/g), ...OWN];
  const rules = GROUPS.flatMap((group) => group.rules);
  assert.deepEqual(rules.map(({ key }) => key).sort(), keys.sort());
  const wanted = rules.flatMap(({ key, unit, values = [] }) => [
    `rule.${key}`, `rule_hint.${key}`, ...(unit ? [`unit.${unit}`] : []), ...values.map((value) => `rule_value.${key}.${value}`),
  ]);
  assert.deepEqual(wanted.filter((it) => !(it in en)), []);
});

test("who may write hours is shown how, and that none are always", () => {
  for (const key of ["ai_hours", "handover_hours", "quiet_hours"]) assert.match(word("rule_hint", key), /\d\d:00-\d\d:00/, key);
  const told = (key) => toldOf({ key, kind: "text" }, null);
  assert.deepEqual([told("ai_hours"), told("handover_hours"), told("quiet_hours")], [t("rules.always"), t("rules.always"), t("rules.nothing")]);
});

test("a ceiling of cost is sent to the penny, and times as whole as the server counts them", () => {
  const rule = (key) => GROUPS.flatMap(({ rules }) => rules).find((it) => it.key === key);
  assert.deepEqual([valueOf(rule("ai_spend_per_day"), "0.50"), valueOf(rule("burst_quiet_ms"), "1.2345")], [0.5, 1_235]);
});

test("several numbers are told apart as whoever writes them writes numbers", (it) => {
  it.after(() => (preferences.value = {}));
  const hours = (text) => valueOf({ key: "follow_up_after_ms", kind: "numbers", unit: "h" }, text).map((ms) => ms / 3_600_000);
  for (const [language, text, wanted] of [
    ["en", "24,72", [24, 72]], ["en", "1.5, 24; 72", [1.5, 24, 72]],
    ["es", "1,5", [1.5]], ["pt", "1,5, 24", [1.5, 24]], ["ru", "1,5; 24 72,", [1.5, 24, 72]], ["es", "1.5, 24", [1.5, 24]],
  ]) {
    preferences.value = { language };
    assert.deepEqual(hours(text), wanted, `${language}: ${text}`);
  }
});

test("where the server fetches, nothing speaks of webhooks, and no token for them is offered", () => {
  const settings = (value) => ({ items: [{ name: "BATON_GREEN_API_RECEIVE", value }] });
  const [polled, called] = [settings("poll"), settings("webhook")];
  assert.deepEqual([isFetched(polled), isFetched(called), isFetched(null)], [true, false, false]);
  const own = { name: "shop", provider: "green_api" };
  assert.deepEqual([polled, called, null].map((it) => isTokenOffered(own, it)), [false, true, false]);
  assert.equal(isTokenOffered({ ...own, managed_by: "environment" }, called), false);
  for (const isReached of [false, true]) assert.doesNotMatch(drawn(Reached({ isReached, isFetched: true })), /webhook|address|token|reaches/);
  assert.match(drawn(Reached({ isReached: false, isFetched: true })), /switches above/);
  assert.match(drawn(Reached({ isReached: false, isFetched: false })), /address and the token above/);
});
