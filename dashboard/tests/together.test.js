// Several tabs of one browser: they share one line for news.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { answers, asked, line, pass, refusal, rest } from "./page.js";
import { followTogether } from "../app/wire/together.js";

const URL = "/api/v1/events";
const dialled = () => asked.filter(({ path }) => path === "GET /events").map(({ headers }) => headers["last-event-id"] ?? null);

/** Locks as a browser keeps them: one holds it, the others wait in turn. */
function locks() {
  const waiting = [];
  let isHeld = false;
  const next = () => {
    const first = !isHeld && waiting.shift();
    if (!first) return;
    isHeld = true;
    first().finally(() => {
      isHeld = false;
      next();
    });
  };
  return {
    request: (_name, { signal }, hold) => new Promise((done, refuse) => {
      const mine = () => hold().then(done);
      waiting.push(mine);
      signal.addEventListener("abort", () => {
        if (waiting.includes(mine)) waiting.splice(waiting.indexOf(mine), 1);
        refuse(signal.reason);
      });
      queueMicrotask(next);
    }),
  };
}

let channels;
class Channel {
  constructor() { channels.push(this); }
  postMessage(data) {
    for (const other of channels) if (other !== this) queueMicrotask(() => channels.includes(other) && other.onmessage?.({ data: structuredClone(data) }));
  }
  close() { channels = channels.filter((other) => other !== this); }
}

let ends;
/** Another tab, and what it hears. */
function tab() {
  const heard = [];
  const end = followTogether("feed", URL, {
    onOpen: () => heard.push("open"), onMute: () => heard.push("mute"), onLost: () => heard.push("lost"),
    onFrame: ({ type, data }) => heard.push(data.n ?? type),
  });
  ends.push(end);
  return { heard, end };
}

/** What one has heard since it was looked at last. */
const said = ({ heard }) => heard.splice(0);

beforeEach(() => {
  channels = [];
  ends = [];
  asked.length = 0;
  globalThis.BroadcastChannel = Channel;
  navigator.locks = locks();
});
afterEach(() => {
  ends.forEach((end) => end());
  delete navigator.locks;
});

test("however many tabs there are, one follows the stream, and all hear", async () => {
  const feed = line();
  answers.set("GET /events", feed.answer);
  const tabs = [tab(), tab()];
  await rest();
  feed.write("hello", {}, "e1");
  await rest();
  tabs.push(tab());
  await rest();
  feed.write("said", { n: 1 }, "e2");
  await pass(10_000);
  assert.deepEqual(tabs.map(said), Array(3).fill(["open", "hello", 1]));
  assert.equal(dialled().length, 1);
});

test("when the tab that follows is closed another goes on from there, and a cut is told to all", async () => {
  const [first, second] = [line(), line()];
  answers.set("GET /events", first.answer);
  const tabs = [tab(), tab(), tab()];
  await rest();
  first.write("hello", {}, "e1");
  first.write("said", { n: 1 }, "e2");
  await rest();
  tabs.forEach(said);
  answers.set("GET /events", second.answer);
  tabs.shift().end();
  await rest();
  assert.deepEqual(dialled(), [null, "e2"]);
  second.write("hello", {}, "e2");
  second.write("said", { n: 2 }, "e3");
  await rest();
  assert.deepEqual(tabs.map((it) => said(it).filter((word) => word !== "open")), [["hello", 2], ["hello", 2]]);
  answers.set("GET /events", line().answer);
  second.close();
  await rest();
  assert.deepEqual(tabs.map(said), [["lost"], ["lost"]]);
});

test("a tab that is seen and told nothing follows for itself; one that is hidden waits", async () => {
  answers.set("GET /events", line().answer);
  // It holds the line, and says nothing: as one that the browser has put to sleep.
  void navigator.locks.request("feed", { signal: new AbortController().signal }, () => new Promise(() => {}));
  document.hidden = true;
  tab();
  document.hidden = false;
  await pass(4_000);
  tab();
  await pass(4_000);
  assert.equal(dialled().length, 0);
  await pass(1_000);
  assert.equal(dialled().length, 1);
});

test("when the tab that said nothing is gone, the others load what they have missed", async () => {
  const feed = line();
  answers.set("GET /events", feed.answer);
  let wake;
  void navigator.locks.request("feed", { signal: new AbortController().signal }, () => new Promise((done) => (wake = done)));
  const seen = tab();
  document.hidden = true;
  const hidden = tab();
  document.hidden = false;
  await pass(5_000);
  feed.write("hello", {}, "e1");
  feed.write("said", { n: 1 }, "e2");
  await rest();
  assert.deepEqual([said(seen), said(hidden)], [["open", "hello", 1], []]);
  wake();
  await rest();
  feed.write("said", { n: 2 }, "e3");
  await rest();
  assert.deepEqual([said(seen), said(hidden)], [[2], ["open", "hello", "resync", 2]]);
  assert.equal(dialled().length, 1);
});

test("a tab that somebody looks at has the one that tells dial again at once", async () => {
  answers.set("GET /events", refusal(503, "unavailable"));
  tab();
  for (let n = 0; n < 8; n += 1) await pass(20_000);
  const before = dialled().length;
  tab();
  await rest();
  assert.equal(dialled().length, before + 1);
});

test("a tab that is looked at follows for itself once the one that told it has fallen silent for good", async () => {
  const feed = line();
  answers.set("GET /events", feed.answer);
  const first = tab();
  await rest();
  feed.write("hello", {}, "e1");
  await rest();
  const seen = tab();
  await rest();
  assert.deepEqual(said(seen), ["open", "hello"]);
  // The browser puts the first to sleep: it keeps the lock, and hears and says nothing any more.
  channels.shift().onmessage = null;
  answers.set("GET /events", line().answer);
  await pass(15_000);
  assert.deepEqual(dialled(), [null]);
  await pass(5_000);
  assert.deepEqual(dialled(), [null, "e1"]);
  first.end();
});

test("a tab is told of a line that nothing comes through, once", async () => {
  answers.set("GET /events", line(true).answer);
  const tabs = [tab(), tab()];
  await pass(5_000);
  tabs.push(tab());
  await pass(10_000);
  assert.deepEqual(tabs.map(said), Array(3).fill(["mute"]));
  assert.equal(dialled().length, 1);
});

test("a tab that is looked at follows for itself when the one that tells has long heard nothing, though it still answers", async () => {
  answers.set("GET /events", line().answer);
  // The browser holds up the timers by which it would find its own line dead.
  void navigator.locks.request("feed", { signal: new AbortController().signal }, () => new Promise(() => {}));
  const heardAt = Date.now();
  const teller = new Channel();
  teller.onmessage = ({ data }) => data.kind === "ask" && teller.postMessage({ kind: "stands", hello: { id: "e1", type: "hello", data: {} }, isMute: false, heardAt });
  const seen = tab();
  await pass(14_000);
  assert.deepEqual([said(seen), dialled()], [["open", "hello"], []]);
  await pass(11_000);
  assert.deepEqual(dialled(), []);
  await pass(5_000);
  await pass(5_000);
  assert.deepEqual(dialled(), ["e1"]);
});

test("tabs that are only looked at for long have nobody dial more often", async () => {
  answers.set("GET /events", refusal(503, "unavailable"));
  const counted = async () => {
    const before = dialled().length;
    for (let n = 0; n < 20; n += 1) await pass(5_000);
    return dialled().length - before;
  };
  tab();
  await counted();
  const alone = await counted();
  for (let n = 0; n < 5; n += 1) tab();
  await rest();
  await counted();
  assert.ok(await counted() <= alone + 2, `${alone} alone`);
});

test("where a browser lets no tab know of another, each follows for itself", async () => {
  delete navigator.locks;
  answers.set("GET /events", () => line().answer());
  tab();
  tab();
  await rest();
  assert.equal(dialled().length, 2);
});
