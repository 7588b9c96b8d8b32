// The line to the server, when it is refused.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { answers, asked, happens, line, pass, refusal, rest } from "./page.js";
import { connection, hear, keepLoaded, open as openFeed, told } from "../app/state/feed.js";
import { watch } from "../app/state/live.js";
import { hasEnded, me } from "../app/state/session.js";

const EVENTS = "GET /events";
const LIVE = "GET /conversations/c/live";
const dialled = (path) => asked.filter((it) => it.path === path).length;
const proxy = (status) => new Response("<h1>nginx</h1>", { status });

beforeEach(() => {
  answers.clear();
  asked.length = 0;
});

test("a feed that knows nobody here any more leads to signing in, and is not dialled again", async (t) => {
  answers.set(EVENTS, refusal(401, "unauthorized"));
  me.value = { id: "ana" };
  t.after(openFeed());
  await rest();
  assert.deepEqual([me.peek(), hasEnded.peek()], [null, true]);
  await pass(60_000);
  assert.equal(dialled(EVENTS), 1);
});

test("a feed that a proxy refuses while the server is replaced is dialled again, until it is there", async (t) => {
  const seen = [];
  t.after(hear((event) => seen.push(event.type)));
  t.after(openFeed());
  for (const status of [404, 403]) {
    answers.set(EVENTS, proxy(status));
    await pass(5_000);
    assert.equal(connection.peek(), "reconnecting");
  }
  const feed = line();
  answers.set(EVENTS, feed.answer);
  await pass(15_000);
  assert.equal(connection.peek(), "live");
  feed.write("mode_changed", { type: "mode_changed" });
  await rest();
  assert.deepEqual(seen, ["mode_changed"]);
});

test("a line of which only the headers come through is not said to be live, and what is shown is loaded all the same", async (t) => {
  let loaded = 0;
  answers.set(EVENTS, () => line(true).answer());
  t.after(keepLoaded(() => void (loaded += 1)));
  t.after(openFeed());
  await rest();
  assert.deepEqual([told.peek(), loaded], ["connecting", 0]);
  await pass(5_000);
  assert.deepEqual([told.peek(), loaded], ["mute", 1]);
  // What is opened now is loaded now; and what there is at every further try, since no news comes.
  t.after(keepLoaded(() => void (loaded += 10)));
  assert.equal(loaded, 11);
  for (let n = 0; n < 6; n += 1) {
    await pass(5_000);
    assert.equal(told.peek(), "mute", `${n}`);
  }
  assert.equal(loaded, 22);
  // Once it comes through, what came between the last look and its first word is loaded.
  const feed = line();
  answers.set(EVENTS, feed.answer);
  for (let n = 0; n < 5; n += 1) await pass(5_000);
  feed.write("hello", {});
  await rest();
  assert.deepEqual([told.peek(), loaded], ["live", 33]);
});

test("a line that is cut and at once there again is no news; one that stays away is, after a moment", async (t) => {
  const seen = [];
  t.after(told.subscribe((line) => seen.push(line)));
  let feed = line();
  answers.set(EVENTS, () => feed.answer());
  t.after(openFeed());
  await rest();
  for (let n = 0; n < 3; n += 1) {
    const before = feed;
    feed = line();
    before.close();
    await pass(1_000);
    assert.equal(connection.peek(), "live");
  }
  assert.deepEqual(seen, ["connecting", "live"]);
  answers.set(EVENTS, proxy(502));
  feed.close();
  await pass(2_000);
  assert.deepEqual([connection.peek(), told.peek()], ["reconnecting", "live"]);
  await pass(1_000);
  assert.equal(told.peek(), "reconnecting");
});

test("the line of a conversation that is gone is not dialled again; one that a proxy refuses is", async (t) => {
  answers.set(LIVE, proxy(404));
  t.after(watch("c").close);
  await pass(1_000);
  assert.equal(dialled(LIVE), 2);
  answers.set(LIVE, refusal(404, "not_found"));
  await pass(5_000);
  const before = dialled(LIVE);
  await pass(60_000);
  assert.equal(dialled(LIVE), before);
});

test("when the network is back the line is dialled at once, and soon again if it is not quite", async (t) => {
  t.after(openFeed());
  for (let n = 0; n < 8; n += 1) await pass(20_000);
  const before = dialled(EVENTS);
  happens.online();
  await rest();
  assert.equal(dialled(EVENTS), before + 1);
  await pass(700);
  assert.equal(dialled(EVENTS), before + 2);
});

test("a line that is silent for longer than the server ever is, is dropped: after a sleep as soon as somebody looks", async (t) => {
  const feed = line();
  answers.set(EVENTS, feed.answer);
  t.after(openFeed());
  for (let n = 0; n < 4; n += 1) {
    await pass(15_000);
    feed.write("hello", {});
    await rest();
  }
  assert.deepEqual([connection.peek(), dialled(EVENTS)], ["live", 1]);
  // The timers of a computer that sleeps stand still.
  const now = Date.now();
  const asleep = t.mock.method(Date, "now", () => now + 21_000);
  happens.online();
  await rest();
  assert.equal(connection.peek(), "reconnecting");
  asleep.mock.restore();
  answers.set(EVENTS, line().answer);
  await pass(1_000);
  assert.equal(connection.peek(), "live");
  await pass(25_000);
  assert.equal(connection.peek(), "reconnecting");
});
