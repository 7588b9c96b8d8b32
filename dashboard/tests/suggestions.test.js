// A suggestion that was asked for, until it comes or will not.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, line, rest } from "./page.js";
import { message } from "./made.js";
import { open as openFeed } from "../app/state/feed.js";
import { openSuggestions } from "../app/inbox/suggestions.js";

async function asking(t) {
  const feed = line();
  answers.set("GET /events", feed.answer);
  answers.set("GET /conversations/c/drafts", { items: [], next_cursor: null });
  answers.set("POST /conversations/c/drafts", {});
  const suggestions = openSuggestions("c");
  t.after(openFeed());
  t.after(suggestions.close);
  await rest();
  feed.write("hello", {});
  await rest();
  /** Whether it is still waited for after this, one having been asked for before. */
  return async (type, more = {}) => {
    await suggestions.ask();
    feed.write(type, { type, conversation_id: "c", details: {}, ...more });
    await rest();
    return suggestions.isAsked.peek();
  };
}

test("what will not come any more is not waited for", async (t) => {
  const waits = await asking(t);
  const ends = [
    ["draft_created"], ["message_queued", { message: message(1, "agent") }], ["message_sent", { details: { origin: "phone" } }],
    ["mode_changed", { details: { from: "HUMAN", to: "AI" } }], ["conversation_updated", { action: "closed" }], ["turn_failed", { action: "handed_over" }],
  ];
  for (const [type, more] of ends) assert.equal(await waits(type, more), false, type);
});

test("what comes all the same is waited for", async (t) => {
  const waits = await asking(t);
  const goesOn = [
    ["message_received", { message: message(1, "contact") }], ["message_queued", { message: message(1, "system") }], ["message_sent", { message: message(1, "agent") }],
    ["mode_changed", { details: { from: "AI", to: "HUMAN" } }], ["conversation_updated", { action: "labelled" }], ["turn_failed", { action: "retried" }],
    ["turn_failed", { action: "handed_over", conversation_id: "other" }],
  ];
  for (const [type, more] of goesOn) assert.equal(await waits(type, more), true, type);
});
