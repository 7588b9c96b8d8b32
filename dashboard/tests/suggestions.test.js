// A suggestion that was asked for, until it comes or will not.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, later, line, rest } from "./page.js";
import { message } from "./made.js";
import { open as openFeed } from "../app/state/feed.js";
import { openThread } from "../app/state/thread.js";
import { openSuggestions } from "../app/inbox/suggestions.js";

const draft = (id) => ({ id, text: id, state: "fresh" });
const page = (...ids) => ({ items: ids.map(draft), next_cursor: null });

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
    ["message_received", { message: message(1, "contact") }], ["message_queued", { message: message(1, "system") }], ["message_sent", { message: message(1, "agent") }], ["message_sent", { details: { origin: "phone", kind: "reaction" } }],
    ["mode_changed", { details: { from: "AI", to: "HUMAN" } }], ["conversation_updated", { action: "labelled" }], ["turn_failed", { action: "retried" }],
    ["turn_failed", { action: "handed_over", conversation_id: "other" }],
  ];
  for (const [type, more] of goesOn) assert.equal(await waits(type, more), true, type);
});

test("what was asked for before and comes late does not undo a newer suggestion", async (t) => {
  const feed = line();
  answers.set("GET /events", feed.answer);
  const [first, second] = [later(), later()];
  answers.set("GET /conversations/c/drafts", first.answer);
  const suggestions = openSuggestions("c");
  t.after(openFeed());
  t.after(suggestions.close);
  await rest();
  feed.write("hello", {});
  await rest();
  answers.set("GET /conversations/c/drafts", second.answer);
  feed.write("draft_created", { type: "draft_created", conversation_id: "c", details: {} });
  await rest();
  second.give(page("new"));
  await rest();
  first.give(page("old"));
  await rest();
  assert.equal(suggestions.fresh.peek().id, "new");
});

test("a suggestion that was sent is not offered again while the feed is away, nor by what was read before", async (t) => {
  const feed = line();
  answers.set("GET /events", feed.answer);
  answers.set("GET /conversations/c/drafts", page("d"));
  const suggestions = openSuggestions("c");
  const thread = openThread("c", null, suggestions.used);
  t.after(openFeed());
  t.after(suggestions.close);
  t.after(thread.close);
  await rest();
  feed.write("hello", {});
  await rest();
  assert.equal(suggestions.fresh.peek().id, "d");
  const before = later();
  answers.set("GET /conversations/c/drafts", before.answer);
  feed.write("draft_created", { type: "draft_created", conversation_id: "c", details: {} });
  await rest();
  answers.set("GET /conversations/c/drafts", () => Promise.reject(new TypeError("no line")));
  answers.set("POST /conversations/c/drafts/d/send", { message: message(1, "agent") });
  await thread.say({ kind: "draft", text: "d", draft: draft("d"), quoted: null, file: null });
  before.give(page("d"));
  await rest();
  assert.equal(suggestions.fresh.peek(), null);
});
