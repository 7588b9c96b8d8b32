// Who is called, and by which tab. The test is the other tabs of the browser.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { answers, happens, line, pass, rest } from "./page.js";
import { conversation, message } from "./made.js";
import { keep } from "../app/state/conversations.js";
import { open as openFeed } from "../app/state/feed.js";
import { preferences } from "../app/state/preferences.js";
import { go, route } from "../app/state/route.js";
import { me } from "../app/state/session.js";
import { agents } from "../app/state/shelf.js";
import { announcement, begin } from "../app/inbox/alerts.js";
import { share } from "../app/inbox/calling.js";
import { isLookedAt } from "../app/parts/looked.js";

/** After what time it is known which tab calls. */
const KNOWN_MS = 300;

/** This tab's channel, what it said on it, and what was notified. */
let channel, said, notified, closed;
globalThis.BroadcastChannel = class {
  constructor() { channel = this; }
  postMessage(data) { said.push(data); }
  close() {}
};
globalThis.Notification = class {
  static permission = "granted";
  constructor(title, how) { notified.push({ title, ...how }); }
  close() { closed += 1; }
};

let feed, ends;
beforeEach(async () => {
  [said, notified, closed, feed] = [[], [], 0, line()];
  answers.set("GET /events", feed.answer);
  me.value = { id: "ana", role: "agent" };
  preferences.value = { ...preferences.peek(), notifications: true };
  isLookedAt.value = false;
  ends = [openFeed(), begin()];
  await rest();
  feed.write("hello", {});
});
afterEach(() => ends.forEach((end) => end()));

const mei = conversation({ id: "c", mode: "HUMAN", waiting_since: "1", attention: null, contact: { name: "Mei", phone: null }, updated_at: "1" });
/** Mei writes. */
async function writes(id, text) {
  feed.write("message_received", { id, type: "message_received", conversation_id: "c", conversation: mei, message: message(1, "contact", { text }) });
  await rest();
}
const elsewhere = (event, look = {}) => channel.onmessage({ data: { event, tab: "", isSeen: false, isLookedAt: false, canRing: true, ...look } });

test("who looks elsewhere is notified of each message, although the notification before it still stands", async () => {
  await writes("e1", "Hi");
  await pass(KNOWN_MS);
  await writes("e2", "Anybody?");
  await pass(KNOWN_MS);
  // The words themselves are for nobody who passes by: the settings promise it.
  const body = "a new message";
  assert.deepEqual(notified, [body, body].map((body) => ({ title: "Mei needs you", body, tag: "c", renotify: true })));
});

test("nobody is called by a tab behind for what they look at in another", async () => {
  await writes("e1", "Hi");
  elsewhere("e1", { isSeen: true, isLookedAt: true });
  // The other may hear of it first.
  elsewhere("e2", { isSeen: true, isLookedAt: true });
  await writes("e2", "Anybody?");
  await pass(KNOWN_MS);
  assert.deepEqual(notified, []);
});

test("what is looked at here is told to the others, and of several tabs behind one calls", async () => {
  await writes("e1", "Hi");
  elsewhere("e1");
  await pass(KNOWN_MS);
  assert.deepEqual(notified, []);
  route.value = { ...route.peek(), page: "inbox", id: "c" };
  isLookedAt.value = true;
  await writes("e2", "Anybody?");
  await pass(KNOWN_MS);
  assert.deepEqual(said.map(({ event, isSeen, isLookedAt }) => [event, isSeen, isLookedAt]), [["e1", false, false], ["e2", true, true]]);
  route.value = { ...route.peek(), id: null };
});

test("who is given a conversation, or had put one off, is called; what they do themselves calls nobody", async () => {
  agents.items.value = [{ id: "bo", name: "Bo" }];
  const ana = { id: "ana", name: "Ana" };
  const happens = async (id, more, of = {}) => {
    feed.write("conversation_updated", { id, type: "conversation_updated", conversation_id: "c", details: {}, ...more, conversation: { ...mei, waiting_since: null, assignee: ana, ...of } });
    await rest();
    await pass(KNOWN_MS);
    return notified.splice(0).map(({ title, body }) => `${title}: ${body}`);
  };
  const given = { action: "assigned", details: { assignee: "ana" } };
  assert.deepEqual(await happens("e1", { ...given, actor: "agent:bo" }), ["Mei needs you: given to you by Bo"]);
  assert.deepEqual(await happens("e2", { ...given, actor: "agent:ana" }), []);
  assert.deepEqual(await happens("e3", { action: "assigned", details: { assignee: "bo" }, actor: "agent:ana" }, { assignee: { id: "bo", name: "Bo" } }), []);
  assert.deepEqual(await happens("e4", { action: "opened", actor: "system" }), ["Mei needs you: snoozed until now"]);
  // By hand, for the AI to answer, or of a colleague.
  assert.deepEqual(await happens("e5", { action: "opened", actor: "agent:bo" }), []);
  assert.deepEqual(await happens("e6", { action: "opened", actor: "system" }, { mode: "AI" }), []);
  assert.deepEqual(await happens("e7", { action: "opened", actor: "system" }, { assignee: { id: "bo", name: "Bo" } }), []);
});

test("the same words twice are told to a reader twice", async () => {
  const before = announcement.peek().nth;
  for (const id of ["e1", "e2"]) await writes(id, "Hi");
  assert.deepEqual([announcement.peek().nth - before, announcement.peek().text], [2, "Mei needs a person: a new message"]);
});

test("a reader hears in the conversation that is open whatever anybody else says there, and nothing of oneself", async (t) => {
  t.after(() => go("/inbox"));
  go("/inbox/c");
  const hears = async (type, author, more = {}) => {
    const before = announcement.peek().nth;
    feed.write(type, { id: type, type, conversation_id: "c", conversation: { ...mei, waiting_since: null }, message: message(2, author, { text: "Yes", ...more }) });
    await rest();
    return announcement.peek().nth === before ? null : announcement.peek().text;
  };
  const bo = { id: "bo", name: "Bo" };
  assert.deepEqual([
    await hears("message_received", "contact"), await hears("message_queued", "assistant"), await hears("message_queued", "agent", { agent: bo }),
    await hears("note_added", "agent", { agent: bo, kind: "note" }), await hears("message_sent", "agent", { origin: "phone" }),
  ], ["Mei: Yes", "AI: Yes", "Bo: Yes", "Bo: Note: Yes", "From the phone itself: Yes"]);
  assert.deepEqual([
    await hears("message_queued", "agent", { agent: { id: "ana", name: "Ana" } }), await hears("message_sent", "assistant"), await hears("delivery_updated", "agent", { agent: bo }),
  ], [null, null, null]);
  go("/inbox");
  assert.equal(await hears("message_queued", "assistant"), null);
});

test("a page is called by what it shows", (t) => {
  t.after(() => void (route.value = { ...route.peek(), page: "inbox", id: null }));
  const called = (page, id = null) => {
    route.value = { ...route.peek(), page, id };
    return document.title;
  };
  keep({ ...mei, mode: "AI", waiting_since: null, updated_at: "9" });
  assert.deepEqual(
    [called("inbox"), called("inbox", "c"), called("dead-letters"), called("settings", "people"), called("overview")],
    ["Inbox · Baton", "Mei · Baton", "Dead letters · Baton", "Settings · Baton", "Overview · Baton"],
  );
});

test("a sound that something else took away comes back with the next touch", (t) => {
  t.after(() => delete globalThis.AudioContext);
  const made = [];
  globalThis.AudioContext = class {
    state = "suspended";
    resumed = 0;
    constructor() { made.push(this); }
    async resume() { [this.state, this.resumed] = ["running", this.resumed + 1]; }
  };
  happens.pointerup?.();
  happens.keydown?.();
  assert.deepEqual(made.map((it) => it.resumed), [1]);
  made[0].state = "interrupted";
  happens.pointerup?.();
  assert.deepEqual([made.length, made[0].state, made[0].resumed], [1, "running", 2]);
});

test("a tab that hears of it when another has called does not call again", async () => {
  // Had they heard of it together, it would have been for this one.
  elsewhere("e1", { tab: "~" });
  await pass(KNOWN_MS);
  await writes("e1", "Hi");
  await pass(KNOWN_MS);
  assert.deepEqual(notified, []);
});

test("what falls to a tab", () => {
  const offer = (tab, look) => ({ event: "e", tab, isSeen: false, isLookedAt: false, canRing: true, ...look });
  const all = (...offers) => offers.map(({ tab }) => tab + Object.entries(share(offers, tab)).filter(([, falls]) => falls).map(([what]) => ` ${what}`).join(""));
  assert.deepEqual(all(offer("a")), ["a rings notifies"]);
  assert.deepEqual(all(offer("b"), offer("a"), offer("c")), ["b", "a rings notifies", "c"]);
  // Whoever has touched no key there yet hears nothing of it: then another sounds.
  assert.deepEqual(all(offer("a", { canRing: false }), offer("b")), ["a notifies", "b rings"]);
  assert.deepEqual(all(offer("a"), offer("b", { isLookedAt: true })), ["a rings", "b"]);
  assert.deepEqual(all(offer("a"), offer("b", { isLookedAt: true, isSeen: true })), ["a", "b"]);
});

test("of somebody who is erased neither a notification nor what is read out stands any longer", async (t) => {
  t.after(() => go("/inbox"));
  preferences.value = { ...preferences.peek(), sound: false };
  await writes("e1", "Hi");
  await pass(KNOWN_MS);
  go("/inbox/c");
  await writes("e2", "My number is 12");
  assert.match(announcement.peek().text, /12/);
  feed.write("conversation_erased", { type: "conversation_erased", conversation_id: "c" });
  await rest();
  assert.deepEqual([closed, announcement.peek().text], [1, ""]);
});
