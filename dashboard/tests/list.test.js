// The list of conversations, against a server that the test plays.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { answers, asked, later, line, pass, refusal, rest } from "./page.js";
import { conversation } from "./made.js";
import { again, begin, conversation as known, counts, filter, isListed, list, listProblem, load, more, needed, reload } from "../app/state/conversations.js";
import { connection, open as openFeed } from "../app/state/feed.js";
import { FIRST } from "../app/state/filter.js";
import { aim, hold, letGo } from "../app/inbox/list.js";
import { rowHeight } from "../app/inbox/row.js";
import { openSuggestions } from "../app/inbox/suggestions.js";

const LIST = "GET /conversations";
const page = (...ids) => ({ items: ids.map((id) => conversation({ id, updated_at: "1", created_at: id, last_message: null, labels: [], attention: null })), next_cursor: null });

beforeEach(() => {
  answers.clear();
  answers.set("GET /conversations/counts", { needs_you: 0 });
});

async function live(t) {
  const feed = line();
  answers.set("GET /events", feed.answer);
  const end = begin();
  const close = openFeed();
  t.after(() => (close(), end()));
  await rest();
  feed.write("hello", {});
  await rest();
  return feed;
}

test("a list that could not be loaded for another filter is loaded when one tries again", async (t) => {
  answers.set(LIST, page("a"));
  await live(t);
  assert.deepEqual(list.peek(), ["a"]);
  answers.set(LIST, refusal(503, "unavailable"));
  filter.value = { ...FIRST, unread: true };
  await rest();
  assert.deepEqual([listProblem.peek()?.code, isListed.peek(), list.peek()], ["unavailable", false, []], "rows of the last filter are none of this one");
  answers.set(LIST, page("b"));
  await again();
  assert.deepEqual([list.peek(), listProblem.peek(), isListed.peek()], [["b"], null, true]);
  // Of the same filter, those of before are better than none.
  answers.set(LIST, refusal(503, "unavailable"));
  await reload();
  assert.deepEqual([list.peek(), listProblem.peek()?.code], [["b"], "unavailable"]);
});

test("what could not be loaded is tried again by itself when the line is there again", async (t) => {
  answers.set(LIST, page("a"));
  const feed = await live(t);
  answers.set(LIST, refusal(503, "unavailable"));
  filter.value = { ...FIRST, unread: true };
  answers.set("GET /events", refusal(503, "unavailable"));
  feed.close();
  await rest();
  assert.deepEqual([listProblem.peek()?.code, connection.peek()], ["unavailable", "reconnecting"]);
  // The stream goes on from where it was: no word of a gap.
  answers.set(LIST, page("b"));
  answers.set("GET /events", line().answer);
  await pass(2_000);
  assert.deepEqual([connection.peek(), list.peek(), listProblem.peek()], ["live", ["b"], null]);
});

test("a page that could not be loaded is the one that is tried again", async (t) => {
  answers.set(LIST, { ...page("a"), next_cursor: "next" });
  await live(t);
  answers.set(LIST, refusal(503, "unavailable"));
  await more();
  assert.equal(listProblem.peek()?.code, "unavailable");
  answers.set(LIST, page("b"));
  await again();
  assert.deepEqual([list.peek(), asked.findLast(({ path }) => path === LIST).query.cursor], [["a", "b"], "next"]);
});

test("numbers and a suggestion that could not be asked for are asked for again when the line is there again", async (t) => {
  answers.set(LIST, page("a"));
  answers.set("GET /conversations/a/drafts", { items: [], next_cursor: null });
  const feed = await live(t);
  const suggestions = openSuggestions("a");
  t.after(suggestions.close);
  await pass(2_000);
  answers.set("GET /conversations/counts", refusal(503, "unavailable"));
  answers.set("GET /conversations/a/drafts", refusal(503, "unavailable"));
  feed.write("attention_raised", { type: "attention_raised", conversation_id: "a", conversation: page("a").items[0] });
  feed.write("draft_created", { type: "draft_created", conversation_id: "a", details: {} });
  await pass(2_000);
  answers.set("GET /conversations/counts", { needs_you: 1 });
  answers.set("GET /conversations/a/drafts", { items: [{ id: "d", state: "fresh", text: "yes" }], next_cursor: null });
  answers.set("GET /events", line().answer);
  feed.close();
  await pass(2_000);
  assert.deepEqual([connection.peek(), needed.peek(), suggestions.fresh.peek()?.id], ["live", 1, "d"]);
});

/** What the feed tells of one. */
const tell = async (feed, id, more) => {
  const [it] = page(id).items;
  feed.write("message_received", { type: "message_received", conversation_id: id, conversation: { ...it, ...more } });
  await pass(200);
};

test("what happens while the list is read is not undone by what was read before", async (t) => {
  filter.value = FIRST;
  answers.set(LIST, page("c", "b", "a"));
  const feed = await live(t);
  const slow = later();
  answers.set(LIST, slow.answer);
  const read = reload();
  // A new contact writes, one gets a word, one is closed, and one is erased.
  await tell(feed, "d");
  await tell(feed, "a", { updated_at: "2", last_message: { at: "e" } });
  await tell(feed, "b", { updated_at: "2", status: "closed" });
  assert.deepEqual(list.peek(), ["a", "d", "c"]);
  feed.write("conversation_erased", { type: "conversation_erased", conversation_id: "c" });
  await rest();
  slow.give(page("c", "b", "a"));
  await read;
  assert.deepEqual([list.peek(), known("c").peek()], [["a", "d"], null]);
  // What is read after that is newer again.
  answers.set(LIST, page("f"));
  await reload();
  assert.deepEqual(list.peek(), ["f"]);
});

test("what happens while a further page is read is not undone by it, and stands in its place", async (t) => {
  answers.set(LIST, { ...page("p", "o"), next_cursor: "next" });
  const feed = await live(t);
  const slow = later();
  answers.set(LIST, slow.answer);
  const read = more();
  await tell(feed, "n", { updated_at: "2", status: "closed" });
  await tell(feed, "l", { updated_at: "2" });
  slow.give(page("n", "m", "l", "k"));
  await read;
  assert.deepEqual(list.peek(), ["p", "o", "m", "l", "k"]);
});

test("one that is erased while it is asked for stays unknown", async (t) => {
  answers.set(LIST, page());
  const feed = await live(t);
  const slow = later();
  answers.set("GET /conversations/g", slow.answer);
  const read = load("g");
  feed.write("conversation_erased", { type: "conversation_erased", conversation_id: "g" });
  await rest();
  slow.give(page("g").items[0]);
  await read;
  assert.equal(known("g").peek(), null);
});

test("the numbers on the tabs are of what is listed, the one of all stays, and a search has none", async (t) => {
  filter.value = FIRST;
  answers.set(LIST, page("a"));
  answers.set("GET /conversations/counts", ({ query }) => ({ needs_you: Object.keys(query).length, all: query.unread ? 1 : query.assignee ? 2 : 3 }));
  await live(t);
  const shown = () => [counts.peek()?.all, needed.peek()];
  assert.deepEqual(shown(), [3, 1]);
  filter.value = { ...FIRST, unread: true };
  await rest();
  assert.deepEqual(shown(), [1, 1]);
  filter.value = { ...FIRST, group: "mine", assignee: "none" };
  await rest();
  assert.deepEqual(shown(), [2, 1]);
  filter.value = { ...FIRST, q: "delivery" };
  await pass(2_000);
  assert.deepEqual([shown(), asked.filter(({ query }) => query.q).map(({ path }) => path)], [[undefined, 1], [LIST]]);
});

test("numbers that come late are not those of another filter", async (t) => {
  filter.value = FIRST;
  answers.set(LIST, page("a"));
  await live(t);
  const slow = later();
  answers.set("GET /conversations/counts", ({ query }) => (query.unread ? slow.answer : { needs_you: 0, all: 3 }));
  filter.value = { ...FIRST, unread: true };
  await rest();
  filter.value = FIRST;
  await rest();
  slow.give({ needs_you: 0, all: 1 });
  await rest();
  assert.equal(counts.peek().all, 3);
});

test("numbers that take long are asked for once, and those of the last list stand under no other", async (t) => {
  filter.value = FIRST;
  answers.set(LIST, page("a"));
  const feed = await live(t);
  const slow = later();
  answers.set("GET /conversations/counts", slow.answer);
  const times = () => asked.filter(({ path }) => path === "GET /conversations/counts").length;
  const before = times();
  for (let n = 0; n < 10; n += 1) {
    feed.write("message_received", { type: "message_received", conversation: page("a").items[0] });
    await pass(1_100);
  }
  assert.equal(times() - before, 1);
  answers.set("GET /conversations/counts", { needs_you: 2, all: 4 });
  slow.give({ needs_you: 1, all: 3 });
  await pass(1_100);
  assert.deepEqual([times() - before, counts.peek().all, needed.peek()], [2, 4, 2], "once more, for what came meanwhile");

  const next = later();
  answers.set("GET /conversations/counts", ({ query }) => (query.unread ? { needs_you: 0, all: 1 } : next.answer));
  filter.value = { ...FIRST, label: "vip" };
  await rest();
  assert.equal(counts.peek(), null);
  filter.value = { ...FIRST, unread: true };
  await rest();
  assert.deepEqual([counts.peek()?.all, needed.peek()], [1, 2], "the one of all comes when it comes");
});

test("a label that is called otherwise or is gone is so on what is known", async (t) => {
  filter.value = FIRST;
  const [a, b] = page("la", "lb").items;
  answers.set(LIST, { items: [{ ...a, labels: ["vip", "slow"] }, { ...b, labels: ["new"] }], next_cursor: null });
  const feed = await live(t);
  const labels = () => ["la", "lb"].map((id) => known(id).peek().labels);
  const changed = async (action, details) => {
    feed.write("label_updated", { type: "label_updated", action, details });
    await rest();
  };
  await changed("changed", { name: "VIP", was: "vip" });
  assert.deepEqual(labels(), [["VIP", "slow"], ["new"]]);
  for (const action of ["added", "changed"]) await changed(action, { name: "slow" });
  assert.deepEqual(labels(), [["VIP", "slow"], ["new"]]);
  await changed("removed", { name: "slow" });
  assert.deepEqual(labels(), [["VIP"], ["new"]]);
});

test("while somebody aims at a row with the mouse, or presses it, no other comes in its place", async (t) => {
  answers.set(LIST, page("b", "a"));
  const feed = await live(t);
  filter.value = FIRST;
  await rest();
  let at = 1;
  /** The last of them is written to. */
  const writes = async () => {
    const id = list.peek().at(-1);
    at += 1;
    feed.write("message_received", { type: "message_received", conversation_id: id, conversation: { ...page(id).items[0], updated_at: `${at}`, last_message: { at: `x${at}` } } });
    await pass(100);
    return list.peek()[0] === id;
  };
  const moves = (more) => aim({ pointerType: "mouse", buttons: 0, movementX: 1, movementY: 0, ...more });
  assert.equal(await writes(), true);
  moves({});
  assert.equal(await writes(), false);
  await pass(400);
  moves({});
  await pass(500);
  assert.deepEqual(list.peek(), ["a", "b"]);
  await pass(200);
  assert.deepEqual(list.peek(), ["b", "a"]);
  // Whoever leaves the list aims at nothing in it.
  moves({});
  letGo();
  assert.equal(await writes(), true);
  // A finger does not aim, and a mouse that rests while the rows move does not either.
  for (const more of [{ pointerType: "touch" }, { movementX: 0 }]) {
    moves(more);
    assert.equal(await writes(), true, JSON.stringify(more));
  }
  // However long it is pressed, the hand that trembles over it too.
  moves({});
  hold();
  moves({ buttons: 1 });
  await pass(1_000);
  assert.equal(await writes(), false);
  letGo();
  await pass(200);
  assert.deepEqual(list.peek().length, 2);
});

test("a row is as high as its words need where a browser has them larger", (t) => {
  t.after(() => delete globalThis.getComputedStyle);
  const high = (fontSize) => {
    globalThis.getComputedStyle = () => ({ fontSize });
    return rowHeight();
  };
  assert.deepEqual([high("16px"), high("32px"), high("")], [72, 144, 72]);
});
