// The thread that is open, against a server that the test plays.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, asked, later, line, pass, refusal, rest } from "./page.js";
import { delivery, message } from "./made.js";
import { open as openFeed } from "../app/state/feed.js";
import { setOwed } from "../app/state/owed.js";
import { me } from "../app/state/session.js";
import { openThread } from "../app/state/thread.js";

const MESSAGES = "GET /conversations/c/messages";
const AROUND = 25;

/** The server's own pages of what was written. */
const archive = (all) => ({ query: { around, before, after, limit } }) => {
  const newestFirst = [...all].reverse();
  const upTo = (seq) => newestFirst.filter((it) => it.seq <= seq);
  const beyond = (seq) => all.filter((it) => it.seq > seq);
  if (after) return { items: beyond(Number(after)).slice(0, Number(limit)), next_cursor: null };
  if (around) return { items: [...beyond(Number(around)).slice(0, AROUND).reverse(), ...upTo(Number(around)).slice(0, AROUND)], next_cursor: null };
  const items = (before ? upTo(Number(before) - 1) : newestFirst).slice(0, Number(limit));
  return { items, next_cursor: items.at(-1)?.seq > all[0].seq ? "more" : null };
};
const many = (count) => Array.from({ length: count }, (_, at) => message(at + 1, "contact"));
const seqs = (thread) => thread.ordered.peek().map((it) => it.seq);

async function live(t) {
  const feed = line();
  answers.set("GET /events", feed.answer);
  t.after(openFeed());
  await rest();
  feed.write("hello", {});
  await rest();
  return feed;
}

/** One that is opened at a message, as a search does. */
async function openedAt(t, all, seq) {
  const feed = await live(t);
  answers.set(MESSAGES, archive(all));
  const thread = openThread("c", seq);
  t.after(thread.close);
  await rest();
  return { feed, thread };
}

test("a short conversation that a search opened goes on by itself", async (t) => {
  const all = many(3);
  const { feed, thread } = await openedAt(t, all, 2);
  assert.deepEqual(seqs(thread), [1, 2, 3]);
  assert.equal(thread.hasNewer.peek(), false);
  all.push(message(4, "contact"));
  feed.write("message_received", { type: "message_received", conversation_id: "c", message: all[3] });
  await rest();
  assert.deepEqual(seqs(thread), [1, 2, 3, 4]);
  // What one writes oneself stays when the server has it.
  answers.set("POST /conversations/c/messages", () => message(5, "agent"));
  await thread.say({ kind: "text", text: "text 5", draft: null, quoted: null, file: null });
  assert.deepEqual(seqs(thread), [1, 2, 3, 4, 5]);
  assert.deepEqual(thread.owed.peek(), []);
});

test("a long conversation that a search opened has newer ones, until they are loaded", async (t) => {
  const { thread } = await openedAt(t, many(100), 10);
  assert.deepEqual([seqs(thread)[0], seqs(thread).at(-1), thread.hasNewer.peek()], [1, 35, true]);
  await thread.newer();
  assert.deepEqual([seqs(thread).at(-1), thread.hasNewer.peek()], [85, true]);
  await thread.newer();
  assert.deepEqual([seqs(thread).at(-1), thread.hasNewer.peek()], [100, false]);
});

test("who goes to the newest while more is read, and a second look waits for that, stands at the newest", async (t) => {
  const all = many(200);
  const { thread } = await openedAt(t, all, 10);
  await pass(150);
  const slow = later();
  const pages = archive(all);
  answers.set(MESSAGES, (request) => (request.query.after ? slow.answer : pages(request)));
  const newer = thread.newer();
  thread.lookAgain();
  await pass(150);
  const going = thread.toNewest();
  slow.give(pages({ query: { after: 35, limit: 50 } }));
  await Promise.all([newer, going]);
  assert.deepEqual([seqs(thread)[0], seqs(thread).at(-1), thread.hasNewer.peek()], [151, 200, false]);
});

test("who jumps to a message while something is read gets there, and loads nothing that came with that", async (t) => {
  const all = many(200);
  const { thread } = await openedAt(t, all, null);
  const slow = later();
  const pages = archive(all);
  answers.set(MESSAGES, (request) => (request.query.before ? slow.answer : pages(request)));
  const older = thread.older();
  const going = [thread.around(120), thread.around(10)];
  asked.length = 0;
  slow.give(pages({ query: { before: 151, limit: 50 } }));
  await Promise.all([older, ...going]);
  assert.ok(thread.messages.peek().has(10));
  assert.deepEqual(asked.map(({ query }) => query.around), ["10"]);
});

test("however much happens while a page is read, one look is for all of it", async (t) => {
  const all = many(200);
  const { thread } = await openedAt(t, all, null);
  const slow = later();
  answers.set(MESSAGES, slow.answer);
  const older = thread.older();
  for (let n = 0; n < 5; n += 1) {
    thread.lookAgain();
    await pass(150);
  }
  asked.length = 0;
  answers.set(MESSAGES, archive(all));
  slow.give({ items: all.slice(100, 150).reverse(), next_cursor: "more" });
  await older;
  await pass(150);
  assert.equal(asked.filter(({ path }) => path === MESSAGES).length, 1);
});

test("what changed while one jumped is looked for", async (t) => {
  const all = many(100);
  const { thread } = await openedAt(t, all, 10);
  all[9] = message(10, "contact", { outcome: "ignored" });
  await pass(150);
  assert.equal(thread.messages.peek().get(10).outcome, "ignored");
});

test("what happens to a message that is not loaded tears no gap into those that are", async (t) => {
  const all = many(100);
  const { feed, thread } = await openedAt(t, all, null);
  feed.write("delivery_updated", { type: "delivery_updated", conversation_id: "c", message: message(10, "agent") });
  await rest();
  await thread.older();
  await thread.older();
  assert.deepEqual(seqs(thread), all.map((it) => it.seq));
});

test("what comes after a gap that is not filled yet tears no hole, whether it is told of or sent", async (t) => {
  const all = many(200);
  const known = all.slice(0, 60);
  const { feed, thread } = await openedAt(t, known, null);
  answers.set(MESSAGES, archive(all));
  answers.set("POST /conversations/c/messages", () => all[198]);
  feed.write("resync", {});
  feed.write("note_added", { type: "note_added", conversation_id: "c", message: all[199] });
  await thread.say({ kind: "text", text: "text 199", draft: null, quoted: null, file: null });
  await pass(150);
  assert.deepEqual([seqs(thread), thread.hasOlder.peek()], [all.slice(150).map((it) => it.seq), true]);
});

test("a note that is added while the thread is opened is there", async (t) => {
  const feed = await live(t);
  const slow = later();
  answers.set(MESSAGES, slow.answer);
  const thread = openThread("c");
  t.after(thread.close);
  feed.write("note_added", { type: "note_added", conversation_id: "c", message: message(4, "agent", { kind: "note" }) });
  await rest();
  answers.set(MESSAGES, archive([...many(3), message(4, "agent", { kind: "note" })]));
  slow.give(archive(many(3))({ query: { limit: 50 } }));
  await pass(150);
  assert.deepEqual(seqs(thread), [1, 2, 3, 4]);
});

test("what was read before the feed told of more does not undo it", async (t) => {
  const of = (state) => message(3, "agent", { delivery: delivery(state) });
  const all = [...many(2), of("sending")];
  const { feed, thread } = await openedAt(t, all, 3);
  await pass(150);
  const slow = later();
  answers.set(MESSAGES, slow.answer);
  thread.lookAgain();
  await pass(150);
  feed.write("delivery_updated", { type: "delivery_updated", conversation_id: "c", message: of("unknown") });
  await rest();
  slow.give({ items: [...all].reverse(), next_cursor: null });
  await pass(10_000);
  assert.equal(thread.messages.peek().get(3).delivery.state, "unknown");
  // What is read after that is newer again.
  answers.set(MESSAGES, archive([...many(2), of("sent")]));
  thread.lookAgain();
  await pass(150);
  assert.equal(thread.messages.peek().get(3).delivery.state, "sent");
});

test("what could not be read is read when one tries again, and by itself when the line is there again", async (t) => {
  const all = many(60);
  const { feed, thread } = await openedAt(t, all, 58);
  await pass(150);
  answers.set(MESSAGES, refusal(503, "unavailable"));
  all[59] = message(60, "contact", { outcome: "ignored" });
  thread.lookAgain();
  await pass(150);
  assert.equal(thread.problem.peek()?.code, "unavailable");
  answers.set(MESSAGES, archive(all));
  await thread.again();
  assert.deepEqual([thread.problem.peek(), thread.messages.peek().get(60).outcome], [null, "ignored"]);

  answers.set(MESSAGES, refusal(503, "unavailable"));
  all[59] = message(60, "contact", { outcome: "answered" });
  thread.lookAgain();
  await pass(150);
  answers.set(MESSAGES, archive(all));
  answers.set("GET /events", line().answer);
  feed.close();
  await pass(2_000);
  assert.deepEqual([thread.problem.peek(), thread.messages.peek().get(60).outcome], [null, "answered"]);
});

test("a note that went to where the conversation was merged into takes no message's place here", async (t) => {
  const { thread } = await openedAt(t, many(3), 2);
  answers.set("POST /conversations/c/notes", () => message(2, "agent", { kind: "note", conversation_id: "other" }));
  await thread.say({ kind: "note", text: "text 2", draft: null, quoted: null, file: null });
  assert.deepEqual(thread.ordered.peek().map((it) => it.author), ["contact", "contact", "contact"]);
});

test("what is written arrives in the order it was written in, also in a thread that was opened anew", async (t) => {
  const first = later();
  const texts = () => asked.filter(({ path }) => path === "POST /conversations/c/messages").map(({ body }) => body.text);
  asked.length = 0;
  const { thread } = await openedAt(t, many(3), 2);
  const write = (thread, text) => thread.say({ kind: "text", text, draft: null, quoted: null, file: null });
  answers.set("POST /conversations/c/messages", ({ body }) => (body.text === "a" ? first.answer : message(4, "agent", { text: body.text })));
  const sends = [write(thread, "a"), write(thread, "b")];
  thread.close();
  const anew = openThread("c");
  t.after(anew.close);
  sends.push(write(anew, "c"));
  await rest();
  // All are shown at once; one is on its way.
  assert.deepEqual([anew.owed.peek().map((it) => it.text), texts()], [["a", "b", "c"], ["a"]]);
  first.fail();
  const ends = await Promise.allSettled(sends);
  // One that fails holds up nobody.
  assert.deepEqual([ends.map((it) => it.status), texts()], [["rejected", "fulfilled", "fulfilled"], ["a", "b", "c"]]);
  assert.deepEqual(anew.owed.peek().map((it) => [it.text, it.problem?.code]), [["a", "unreachable"]]);
  setOwed("c", []);
});

test("a send that nobody answers is given up in the end, and what waits behind it goes", async (t) => {
  asked.length = 0;
  const { thread } = await openedAt(t, many(3), 2);
  const write = (text) => thread.say({ kind: "text", text, draft: null, quoted: null, file: null }).catch(() => {});
  answers.set("POST /conversations/c/messages", ({ body }) => (body.text === "a" ? new Promise(() => {}) : message(4, "agent", { text: body.text })));
  const sends = [write("a"), write("b")];
  await pass(30_000);
  assert.deepEqual(thread.owed.peek().map((it) => [it.text, it.problem]), [["a", null], ["b", null]]);
  await pass(10_000);
  await Promise.all(sends);
  assert.deepEqual(thread.owed.peek().map((it) => [it.text, it.problem?.code]), [["a", "unreachable"]]);
  setOwed("c", []);
});

test("what waits its turn when the conversation is erased is sent to nobody", async (t) => {
  const first = later();
  asked.length = 0;
  const { thread } = await openedAt(t, many(3), 2);
  answers.set("POST /conversations/c/notes", () => first.answer);
  const write = (text) => thread.say({ kind: "note", text, draft: null, quoted: null, file: null });
  const sends = [write("a"), write("b")];
  await rest();
  setOwed("c", []);
  first.give(message(4, "agent", { kind: "note" }));
  await Promise.all(sends);
  assert.equal(asked.filter(({ path }) => path === "POST /conversations/c/notes").length, 1);
});

test("what was sent although its suggestion is stale is the same request when it is tried again", async (t) => {
  me.value = { id: "ana" };
  const SEND = "POST /conversations/c/drafts/d/send";
  const { thread } = await openedAt(t, many(3), 2);
  const tried = async (answer, how) => {
    answers.set(SEND, answer);
    await thread.bring(thread.owed.peek()[0], how).catch(() => {});
  };
  answers.set(SEND, refusal(409, "stale"));
  await thread.say({ kind: "draft", text: "yes", draft: { id: "d", text: "yes" }, quoted: null, file: null }).catch(() => {});
  await tried(() => Promise.reject(new TypeError("no line")), { force: true });
  // Also by the page that is here after a reload.
  assert.equal(JSON.parse(sessionStorage.getItem("baton.owed.ana.c"))[0].force, true);
  await tried({ message: message(4, "agent", { text: "yes" }) });
  const requests = asked.filter(({ path }) => path === SEND);
  assert.deepEqual(requests.map(({ body }) => body), [{}, { force: true }, { force: true }]);
  assert.equal(new Set(requests.map(({ headers }) => headers["idempotency-key"])).size, 1);
  assert.deepEqual(thread.owed.peek(), []);
});

test("what was sent when the session had ended is still theirs, and is the same request after they have signed in again", async (t) => {
  const POST = "POST /conversations/c/messages";
  asked.length = 0;
  me.value = { id: "ana" };
  const { thread } = await openedAt(t, many(3), 2);
  answers.set(POST, refusal(401, "unauthorized"));
  await thread.say({ kind: "text", text: "yes", draft: null, quoted: null, file: null }).catch(() => {});
  assert.equal(me.peek(), null);
  const kept = (id) => JSON.parse(sessionStorage.getItem(`baton.owed.${id}.c`) ?? "[]").map((it) => it.text);
  assert.deepEqual([kept("ana"), kept("")], [["yes"], []]);
  me.value = { id: "ana" };
  answers.set(POST, message(4, "agent", { text: "yes" }));
  await thread.bring(thread.owed.peek()[0]);
  const requests = asked.filter(({ path }) => path === POST);
  assert.deepEqual([requests.length, new Set(requests.map(({ headers }) => headers["idempotency-key"])).size], [2, 1]);
  assert.deepEqual([kept("ana"), kept("")], [[], []]);
});
