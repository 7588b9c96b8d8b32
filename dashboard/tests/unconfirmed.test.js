// What was written and not confirmed, brought again by itself.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { answers, asked, line, pass, refusal, rest } from "./page.js";
import { drawn } from "./drawn.js";
import { delivery, message } from "./made.js";
import { open as openFeed } from "../app/state/feed.js";
import { owedOf, setOwed, takeUpOwed } from "../app/state/owed.js";
import { me } from "../app/state/session.js";
import { toasts } from "../app/parts/toast.js";
import { opened, show } from "../app/inbox/opened.js";
import { followOwed } from "../app/inbox/unconfirmed.js";
import { deskOf, putBack } from "../app/inbox/desk.js";
import { isRefusal, stillOwed } from "../app/inbox/fates.js";
import { Unsent } from "../app/inbox/unsent.js";

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
  await rest();
  show("c");
  thread = opened.peek().thread;
  await rest();
  ends = [followOwed(), () => show(null), close];
});
afterEach(() => {
  ends.forEach((end) => end());
  setOwed("c", []);
  toasts.value = [];
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

test("what fails although the line is there is brought again by itself, less and less often and not without end", async () => {
  await write(() => new Response("<h1>nginx</h1>", { status: 502 }));
  const after = async (ms) => {
    for (let n = 0; n < ms; n += 5_000) await (feed.write("ping", {}), pass(5_000));
    return tries().length;
  };
  assert.deepEqual([await after(5_000), await after(5_000), await after(15_000), await after(5_000)], [1, 2, 2, 3]);
  assert.equal(await after(20 * MINUTE_MS), 5);
  assert.equal(new Set(tries().map(({ headers }) => headers["idempotency-key"])).size, 1);
  assert.deepEqual([shown(), toasts.peek()], [["yes"], []]);
});

test("what failed with the line goes once it is there again, although one has gone to another conversation", async () => {
  await write();
  show("d");
  answers.set(POST, mine());
  await breaks(1_000);
  assert.deepEqual([owedOf("c").peek(), tries().length, new Set(tries().map(({ headers }) => headers["idempotency-key"])).size], [[], 2, 1]);
});

test("who has gone to another conversation is told of what no longer fits", async () => {
  await write();
  show("d");
  assert.deepEqual(toasts.peek(), []);
  await breaks(10 * MINUTE_MS);
  assert.deepEqual([tries().length, toasts.peek().map((one) => one.isBad)], [1, [true]]);
});

test("what a page left behind goes by itself, unless somebody else sits here now", async () => {
  const left = { key: "k", kind: "text", text: "yes", draft: null, quoted: null, file: null, at: new Date().toISOString(), after: 0, force: false, problem: null };
  sessionStorage.setItem("baton.owed.ana.left", JSON.stringify([left]));
  const LEFT = "POST /conversations/left/messages";
  answers.set(LEFT, message(1, "agent"));
  const gone = () => asked.filter(({ path }) => path === LEFT).length;
  me.value = { id: "bo", role: "agent" };
  takeUpOwed();
  ends.push(followOwed());
  await rest();
  assert.equal(gone(), 0);
  me.value = { id: "ana", role: "agent" };
  takeUpOwed();
  await rest();
  me.value = { id: "bo", role: "agent" };
  ends.push(followOwed());
  await rest();
  assert.equal(gone(), 0);
  me.value = { id: "ana", role: "agent" };
  ends.push(followOwed());
  await rest();
  assert.deepEqual([gone(), sessionStorage.getItem("baton.owed.ana.left")], [1, null]);
});

test("a file that can no longer be read is not said to have perhaps arrived, and is taken back to the field without it", async () => {
  const file = (isThere) => ({ name: "a.pdf", size: 1, blob: { slice: () => ({ arrayBuffer: async () => isThere() || Promise.reject(new DOMException("changed", "NotReadableError")) }) } });
  await write(mine, { file: file(() => false) });
  assert.deepEqual([tries().length, thread.owed.peek().map(({ problem }) => [isRefusal(problem), problem.code])], [0, [[true, "file_unreadable"]]]);
  assert.match(drawn(Unsent({ it: thread.owed.peek()[0] })), /^(?!.*refused).*changed on this computer.*Back to the text field/);
  putBack("c", thread.owed.peek()[0]);
  assert.deepEqual([deskOf("c").peek().text, deskOf("c").peek().file], ["yes", null]);
  setOwed("c", []);

  // One that was tried before may have arrived.
  let isThere = true;
  await write(lost, { file: { ...file(() => isThere), blob: Object.assign(new File(["x"], "a.pdf"), file(() => isThere).blob) } });
  isThere = false;
  await thread.bring(thread.owed.peek()[0]).catch(() => {});
  assert.deepEqual([tries().length, thread.owed.peek().map(({ problem, file }) => [problem.code, file.blob])], [1, [["unreachable", null]]]);
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
