// What was written and not confirmed, brought again by itself.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { answers, asked, line, pass, refusal, rest } from "./page.js";
import { delivery, message } from "./made.js";
import { open as openFeed } from "../app/state/feed.js";
import { setOwed } from "../app/state/owed.js";
import { me } from "../app/state/session.js";
import { openThread } from "../app/state/thread.js";
import { bringUnconfirmed } from "../app/inbox/unconfirmed.js";
import { stillOwed } from "../app/inbox/fates.js";

const POST = "POST /conversations/c/messages";
const MINUTE_MS = 60_000;
const lost = () => Promise.reject(new TypeError("no line"));
const ana = { id: "ana", name: "Ana" };
const mine = (state = "read") => message(4, "agent", { text: "yes", agent: ana, delivery: delivery(state) });

let feed, thread, ends;
beforeEach(async () => {
  me.value = { id: "ana", role: "agent" };
  asked.length = 0;
  feed = line();
  answers.set("GET /events", feed.answer);
  answers.set("GET /conversations/c/messages", { items: [message(3, "contact")], next_cursor: null });
  const close = openFeed();
  await rest();
  feed.write("hello", {});
  thread = openThread("c");
  await rest();
  const stop = bringUnconfirmed(thread, (it) => void thread.bring(it).catch(() => {}));
  ends = [stop, thread.close, close];
});
afterEach(() => {
  ends.forEach((end) => end());
  setOwed("c", []);
});

const write = async (answer = lost, more = {}) => {
  answers.set(POST, answer);
  await thread.say({ kind: "text", text: "yes", draft: null, quoted: null, file: null, ...more }).catch(() => {});
  await rest();
};
async function breaks(ms) {
  answers.set("GET /events", lost);
  feed.close();
  await pass(ms);
  feed = line();
  answers.set("GET /events", feed.answer);
  await pass(60_000);
}
const arrives = async (it) => {
  feed.write("message_queued", { type: "message_queued", conversation_id: "c", message: it });
  await pass(150);
};
const tries = () => asked.filter(({ path }) => path === POST);
const shown = () => stillOwed(thread.owed.peek(), thread.ordered.peek()).map(({ text }) => text);

test("what arrived although its answer was lost stands there once, under the key that it has", async () => {
  await write();
  assert.deepEqual([shown(), tries().length], [["yes"], 1], "as long as nobody knows, nothing is done");
  answers.set(POST, mine("queued"));
  await arrives(mine("read"));
  assert.deepEqual([shown(), thread.owed.peek(), new Set(tries().map(({ headers }) => headers["idempotency-key"])).size], [[], [], 1]);
  // The server answers as it did at first; the message has gone on since.
  assert.equal(thread.messages.peek().get(4).delivery.state, "read");
});

test("what failed with the line goes once it is there again", async () => {
  await write();
  answers.set(POST, mine());
  await breaks(1_000);
  assert.deepEqual([shown(), tries().length], [[], 2]);
});

test("what was written long before the line is there again may no longer fit: a person looks first", async () => {
  await write();
  answers.set(POST, mine());
  await breaks(10 * MINUTE_MS);
  assert.deepEqual([shown(), tries().length], [["yes"], 1]);
  // Unless it stands there: then nothing new is said.
  await arrives(mine());
  assert.deepEqual([shown(), tries().length], [[], 2]);
});

test("what fails again is not tried without end", async () => {
  await write();
  await arrives(mine());
  await pass(MINUTE_MS);
  assert.deepEqual([shown(), tries().length], [["yes"], 2]);
});

test("a colleague's same words are theirs; and what was refused, or lost its file, waits for a person", async () => {
  await write();
  await arrives(message(4, "agent", { text: "yes", agent: { id: "bo", name: "Bo" }, delivery: delivery("read") }));
  assert.equal(tries().length, 1);
  setOwed("c", []);
  await write(refusal(409, "follow_up_not_allowed"));
  await write(lost, { file: { name: "a.pdf", size: 1, blob: null } });
  await arrives({ ...mine(), seq: 5 });
  await breaks(1_000);
  assert.equal(tries().length, 3);
});
