// What is kept of labels, canned replies, people and channels: all of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, later, refusal, rest } from "./page.js";
import { cannedReplies } from "../app/state/shelf.js";

const LIST = "GET /canned-replies";
const replies = (count) => Array.from({ length: count }, (_, at) => ({ id: `r${at}`, shortcut: `r${at}`, text: "" }));
/** The server's own pages of them. */
const pages = (all) => ({ query: { limit, cursor } }) => {
  const from = Number(cursor ?? 0);
  const next = from + Number(limit);
  return { items: all.slice(from, next), next_cursor: next < all.length ? String(next) : null };
};
const kept = () => cannedReplies.items.peek().length;

test("however many there are, all are there", async () => {
  answers.set(LIST, pages(replies(430)));
  await cannedReplies.load();
  assert.deepEqual([kept(), cannedReplies.items.peek().at(-1).shortcut], [430, "r429"]);
  // Half of them would hide the others: rather those of before, until it can be asked again.
  answers.set(LIST, (asked) => (asked.query.cursor ? refusal(503, "unavailable") : pages(replies(500))(asked)));
  await cannedReplies.load();
  assert.equal(kept(), 430);
  answers.set(LIST, pages(replies(500)));
  cannedReplies.retry();
  await rest();
  assert.equal(kept(), 500);
});

test("what was asked for before and comes late does not undo what came since", async () => {
  const slow = later();
  answers.set(LIST, slow.answer);
  const before = cannedReplies.load();
  answers.set(LIST, pages(replies(3)));
  await cannedReplies.load();
  slow.give({ items: replies(2), next_cursor: null });
  await before;
  assert.equal(kept(), 3);
});
