// A follow-up that is edited while it leaves, or while somebody else plans one.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { answers, asked, refusal } from "./page.js";
import { conversation } from "./made.js";
import { dueAt, plan } from "../app/inbox/follow_up.js";
import { asField } from "../app/inbox/times.js";
import { cancel, restore } from "../app/pages/follow_up.js";
import { conversation as known, keep } from "../app/state/conversations.js";
import { fetchPageWords } from "../app/words/index.js";

await fetchPageWords();

const PUT = "PUT /conversations/mei/follow-up";
const first = { id: "f1", text: "Has it come by now?", due_at: "2026-03-02T10:00:00Z" };
const words = { due_at: "2026-12-01T09:00:00Z", text: "Has it come by now? Please tell me." };
let version = 0;
const stands = (follow_up) => keep(conversation({ id: "mei", updated_at: String((version += 1)), follow_up }));
const sent = () => asked.filter(({ path }) => path === PUT).map(({ body }) => body);

beforeEach(() => {
  asked.length = 0;
  answers.set(PUT, ({ body }) => ({ ...body, id: "f2" }));
});

test("one that is there as it was opened is replaced, and a first one is planned", async () => {
  stands(first);
  await plan("mei", first, words);
  assert.deepEqual([sent(), known("mei").peek().follow_up.id], [[words], "f2"]);
  stands(null);
  await plan("mei", null, words);
  assert.equal(sent().length, 2);
});

test("one that left while it was edited is not sent a second time", async () => {
  stands(null);
  await assert.rejects(plan("mei", first, words), { code: "follow_up_gone" });
  stands({ ...first, id: "f3" });
  await assert.rejects(plan("mei", first, words), { code: "follow_up_gone" });
  assert.deepEqual(sent(), []);
});

test("one that somebody else planned meanwhile is not replaced unseen", async () => {
  stands(first);
  await assert.rejects(plan("mei", null, words), { code: "follow_up_there" });
  assert.deepEqual(sent(), []);
});

test("whoever changes only the words changes no moment, also where that is past", () => {
  const held = { ...first, due_at: "2026-03-01T10:00:30.5Z" };
  assert.equal(dueAt(held, asField(new Date(held.due_at))), held.due_at);
  assert.equal(dueAt(held, asField(new Date("2026-03-04T10:00:00Z"))), "2026-03-04T10:00:00.000Z");
  assert.equal(dueAt(null, asField(new Date("2026-03-04T10:00:00Z"))), "2026-03-04T10:00:00.000Z");
});

test("what the server refuses leaves what is known as it is", async () => {
  stands(first);
  answers.set(PUT, refusal(409, "follow_up_not_allowed"));
  await assert.rejects(plan("mei", first, words), { code: "follow_up_not_allowed" });
  assert.equal(known("mei").peek().follow_up.id, "f1");
});

test("what is called off, and planned again, in the list is the one that is seen there", async () => {
  const listed = { ...first, conversation_id: "mei", instructions: null, message_id: null };
  const done = () => asked.map(({ path }) => path.split(" ")[0]).filter((method) => method !== "GET");
  const again = async () => {};
  const holds = (follow_up) => answers.set("GET /conversations/mei", conversation({ id: "mei", updated_at: String((version += 1)), follow_up }));
  answers.set("DELETE /conversations/mei/follow-up", () => new Response(null, { status: 204 }));
  // Somebody has planned another meanwhile.
  holds({ ...first, id: "f3" });
  await cancel(listed, again);
  await restore(listed, again);
  assert.deepEqual(done(), []);
  holds(first);
  await cancel(listed, again);
  holds(null);
  await restore(listed, again);
  assert.deepEqual(done(), ["DELETE", "PUT"]);
});

test("what is due and waits to leave is a message, and that is withdrawn", async () => {
  const owed = { ...first, conversation_id: "mei", instructions: null, message_id: "m9" };
  answers.set("GET /conversations/mei", conversation({ id: "mei", updated_at: String((version += 1)), follow_up: null }));
  answers.set("DELETE /messages/m9", () => new Response(null, { status: 204 }));
  await cancel(owed, async () => {});
  assert.deepEqual(asked.map(({ path }) => path), ["DELETE /messages/m9"]);
  await restore(owed, async () => {});
  assert.deepEqual(sent(), [{ due_at: first.due_at, text: first.text }]);
});
