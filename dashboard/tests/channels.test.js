// The pages of the channels, and what the server may say there.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import "./page.js";
import { drawn } from "./drawn.js";
import { KNOWN, StateTag, StateWords } from "../app/pages/channels/state.js";
import { t, word } from "../app/words/index.js";

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
    for (const group of ["channel_state", "channel_state_means", ...(state === "authorized" ? [] : ["channel_state_todo"])]) {
      assert.notEqual(word(group, state), state.replaceAll("_", " "), `${group} ${state}`);
    }
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
