// Switching who answers, where what the feed tells and what is answered overtake each other.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, asked, later, line, rest } from "./page.js";
import { drawn, having } from "./drawn.js";
import { conversation, delivery, message } from "./made.js";
import { conversation as known, keep } from "../app/state/conversations.js";
import { open as openFeed } from "../app/state/feed.js";
import { me } from "../app/state/session.js";
import { backAt, dropOutcome, followSettling, giveBack, outcomes, pressed, showReceipt, takeFrom, takeOver } from "../app/inbox/modes.js";
import { NoteDialog } from "../app/inbox/mode_menu.js";
import { BackClock } from "../app/inbox/back_clock.js";
import { minute, now } from "../app/parts/now.js";
import { Result } from "../app/inbox/receipt.js";

const receipt = (more) => ({ mode: "HUMAN", mode_version: 2, changed: true, settled: true, in_flight: [], at_provider: [], mode_until: null, assignee: null, ...more });
const mei = (more) => conversation({ id: "mei", contact: { name: "Mei", phone: null }, updated_at: "1", ...more });

test("an answer that comes late does not undo what was switched since", async () => {
  keep(mei({ mode_version: 1 }));
  const answer = later();
  answers.set("PUT /conversations/mei/mode", () => answer.answer);
  const going = takeOver(known("mei").peek());
  // A colleague has given it back before the answer is here.
  keep(mei({ mode: "AI", mode_version: 3, updated_at: "3" }));
  answer.give(receipt({}));
  await going;
  assert.deepEqual([known("mei").peek().mode, known("mei").peek().mode_version, outcomes.peek().has("mei")], ["AI", 3, false]);
});

test("an answer that is the newest is shown, before the event with the whole comes", () => {
  keep(mei({ mode: "AI", mode_version: 3, updated_at: "3" }));
  showReceipt("mei", receipt({ mode_version: 4 }));
  assert.deepEqual([known("mei").peek().mode, outcomes.peek().get("mei").receipt.mode_version], ["HUMAN", 4]);
});

test("a switch that waits is not forgotten for another, elsewhere or here", async () => {
  const answersOf = ["yan", "bo"].map((id) => {
    keep(mei({ id, mode: "AI", mode_version: 20, updated_at: "20" }));
    const answer = later();
    answers.set(`PUT /conversations/${id}/mode`, ({ body }) => (body.mode === "AI" ? new Promise(() => {}) : answer.answer));
    return answer;
  });
  const going = ["yan", "bo"].map((id) => takeOver(known(id).peek()));
  const stands = () => ["yan", "bo"].map((id) => pressed.peek().get(id)?.to);
  assert.deepEqual(stands(), ["HUMAN", "HUMAN"]);
  answersOf[1].give(receipt({ mode_version: 21 }));
  await going[1];
  assert.deepEqual(stands(), ["HUMAN", undefined]);
  // It is given back while the takeover is not answered yet.
  keep(mei({ id: "yan", mode: "HUMAN", mode_version: 21, updated_at: "21" }));
  void giveBack(known("yan").peek());
  answersOf[0].give(receipt({ mode_version: 21 }));
  await going[0];
  assert.deepEqual(stands(), ["AI", undefined]);
});

test("an answer that comes late does not undo who holds it since, or till when; one that is first says both", async () => {
  const stands = () => [known("late").peek().assignee?.id ?? null, known("late").peek().mode_until];
  keep(mei({ id: "late", mode: "AI", mode_version: 1, mode_until: null }));
  const answer = later();
  answers.set("PUT /conversations/late/mode", () => answer.answer);
  const going = takeOver(known("late").peek());
  // The feed has told of the switch, and that a colleague has taken it from there.
  keep(mei({ id: "late", mode: "HUMAN", mode_version: 2, updated_at: "3", assignee: { id: "bo" }, mode_until: "12:00" }));
  answer.give(receipt({ mode_version: 2, assignee: { id: "ana" }, mode_until: "11:00" }));
  await going;
  assert.deepEqual([stands(), outcomes.peek().get("late").receipt.mode_version], [["bo", "12:00"], 2]);
  answers.set("PUT /conversations/late/mode", receipt({ mode_version: 2, changed: false, assignee: { id: "bo" }, mode_until: "13:00" }));
  await backAt(known("late").peek(), new Date());
  assert.deepEqual(stands(), ["bo", "13:00"]);
});

test("what is settled later is noticed, and what another switch has made history is put away", async (t) => {
  const feed = line();
  answers.set("GET /events", feed.answer);
  t.after(followSettling());
  t.after(openFeed());
  showReceipt("mei", receipt({ mode_version: 5, settled: false }));
  await rest();
  feed.write("takeover_settled", { type: "takeover_settled", conversation_id: "mei" });
  await rest();
  assert.equal(outcomes.peek().get("mei").isSettled, true);
  feed.write("mode_changed", { type: "mode_changed", conversation_id: "mei", mode_version: 6 });
  await rest();
  assert.equal(outcomes.peek().has("mei"), false);
});

test("what was under way at a takeover and is of unknown fate in the end is not called settled", async (t) => {
  const feed = line();
  answers.set("GET /events", feed.answer);
  t.after(followSettling());
  t.after(openFeed());
  await rest();
  const it = mei({ mode: "HUMAN", mode_version: 7, updated_at: "7" });
  const says = () => drawn(Result({ it, outcome: outcomes.peek().get("mei") }));
  const tell = async (type, more) => {
    feed.write(type, { type, conversation_id: "mei", ...more });
    await rest();
  };
  const fate = (seq, state) => ({ message: message(seq, "assistant", { delivery: delivery(state) }) });
  keep(it);
  const under = receipt({ mode_version: 7, settled: false, in_flight: ["m1", "m2"] });
  showReceipt("mei", under);
  assert.match(says(), /Not settled yet: 2 messages may still arrive/);
  await tell("message_sent", fate(1, "sent"));
  await tell("send_uncertain", fate(2, "unknown"));
  await tell("takeover_settled");
  assert.match(says(), /Nobody knows yet whether 1 message arrived/);
  assert.doesNotMatch(says(), /Settled now/);
  // It is found at the provider, or a person says that it arrived.
  await tell("send_reconciled", fate(2, "sent"));
  assert.match(says(), /Settled now/);
});

test("what had left at a takeover after all is not said to be stopped in time once it is known", async (t) => {
  const feed = line();
  answers.set("GET /events", feed.answer);
  t.after(followSettling());
  t.after(openFeed());
  await rest();
  const says = () => drawn(Result({ it: mei({ mode: "HUMAN", mode_version: 8 }), outcome: outcomes.peek().get("mei") }));
  keep(mei({ mode: "HUMAN", mode_version: 8, updated_at: "8" }));
  showReceipt("mei", receipt({ mode_version: 8, generation_cancelled: true, generation_ms: null, parts_discarded: 2, parts_already_sent: 0, in_flight: ["m1"] }));
  assert.match(says(), /Nobody knows yet whether 1 message arrived/);
  feed.write("send_reconciled", { type: "send_reconciled", conversation_id: "mei", message: message(1, "assistant", { delivery: delivery("sent") }) });
  await rest();
  assert.doesNotMatch(says(), /Nobody knows|Nothing had left/);
});

test("of a switch whose answer is lost nobody knows, until the feed tells of it", async (t) => {
  const feed = line();
  answers.set("GET /events", feed.answer);
  t.after(followSettling());
  t.after(openFeed());
  await rest();
  const it = mei({ id: "lost", mode: "AI", mode_version: 1 });
  keep(it);
  const taken = { type: "mode_changed", conversation_id: "lost", mode_version: 2 };
  const lose = async (meanwhile) => {
    const answer = later();
    answers.set("PUT /conversations/lost/mode", () => answer.answer);
    const going = takeOver(known("lost").peek());
    await meanwhile?.();
    answer.fail();
    await going;
  };
  await lose();
  assert.equal(drawn(Result({ it, outcome: outcomes.peek().get("lost") })), "Baton cannot be reached. Nobody knows whether it was done. Take over again");
  feed.write("mode_changed", taken);
  await rest();
  assert.equal(outcomes.peek().has("lost"), false);
  // The feed may be faster than it takes to notice.
  await lose(() => keep(mei({ id: "lost", mode: "HUMAN", mode_version: 2, updated_at: "2" })));
  assert.equal(outcomes.peek().has("lost"), false);
});

test("what is pressed twice is asked for once, and what it did stays told when it is done again", async () => {
  const requests = () => asked.filter(({ path }) => path === "PUT /conversations/twice/mode").map(({ body }) => body.mode);
  const says = () => drawn(Result({ it: known("twice").peek(), outcome: outcomes.peek().get("twice") }));
  keep(mei({ id: "twice", mode: "AI", mode_version: 1 }));
  const answer = later();
  answers.set("PUT /conversations/twice/mode", () => answer.answer);
  const going = [takeOver(known("twice").peek()), takeOver(known("twice").peek())];
  answer.give(receipt({ parts_already_sent: 0, parts_discarded: 2 }));
  await Promise.all(going);
  assert.deepEqual([requests(), says()], [["HUMAN"], "Nothing had left. 2 messages were discarded. Nothing more will leave. Give back"]);
  answers.set("PUT /conversations/twice/mode", receipt({ changed: false, parts_discarded: 0, mode_until: "12:00" }));
  await takeOver(known("twice").peek());
  assert.deepEqual([requests().length, known("twice").peek().mode_until, /discarded/.test(says())], [2, "12:00", true]);
  // What is moved, or asked for, is another matter.
  answers.set("PUT /conversations/twice/mode", receipt({ changed: false }));
  await backAt(known("twice").peek(), null);
  assert.doesNotMatch(says(), /discarded/);
  const it = known("twice").peek();
  await Promise.all([giveBack(it), giveBack(it)]);
  assert.deepEqual(requests().slice(3), ["AI"]);
  // What was pressed since is not what was pressed before.
  await Promise.all([takeOver(it), giveBack(it), takeOver(it)]);
  assert.deepEqual(requests().slice(4), ["HUMAN", "AI", "HUMAN"]);
});

test("a conversation that is taken from a colleague twice at once is taken once", async () => {
  const it = mei({ id: "bos", mode: "HUMAN", mode_version: 1, assignee: { id: "bo", name: "Bo" } });
  answers.set("PATCH /conversations/bos", () => ({ ...it, updated_at: "2", assignee: { id: "ana", name: "Ana" } }));
  keep(it);
  await Promise.all([takeFrom(it), takeFrom(it)]);
  assert.equal(asked.filter(({ path }) => path === "PATCH /conversations/bos").length, 1);
});

test("a note for the AI whose answer is lost, and of which the feed has told, has left its dialog", async () => {
  me.value = { id: "ana", role: "agent" };
  const it = mei({ id: "noted", mode: "HUMAN", mode_version: 1, mode_actor: "agent:ana" });
  keep(it);
  let closed = 0;
  const { onSend } = having(NoteDialog({ it, onClose: () => (closed += 1) }), "onSend");
  const given = new FormData();
  given.set("note", "The refund is agreed.");
  const answer = later();
  answers.set("PUT /conversations/noted/mode", () => answer.answer);
  const going = onSend(given);
  keep(mei({ id: "noted", mode: "AI", mode_version: 2, updated_at: "2" }));
  answer.fail();
  await going;
  assert.equal(closed, 1);
});

test("the clock back to the AI shows the seconds, and is called by the minute", (t) => {
  me.value = { id: "ana", role: "agent" };
  const [before, at] = [[now.peek(), minute.peek()], Date.parse("2026-03-02T09:00:00Z")];
  t.after(() => ([now.value, minute.value] = before));
  const shown = (ms) => {
    [now.value, minute.value] = [at + ms, at + Math.floor(ms / 60_000) * 60_000];
    const it = BackClock({ it: mei({ mode: "HUMAN", mode_until: new Date(at + 1_800_000).toISOString() }) });
    return [drawn(having(it, "label").words), having(it, "label").label.split(":")[0]];
  };
  assert.deepEqual([0, 1_000, 61_000, 1_799_000].map(shown), [["AI in 30:00", "AI in 30 min"], ["AI in 29:59", "AI in 30 min"], ["AI in 28:59", "AI in 29 min"], ["AI in 0:01", "AI in 1 min"]]);
  assert.deepEqual(shown(1_800_000), ["AI any moment", "AI any moment"]);
});
