import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { isConfirmed } from "../app/pages/confirmed.js";
import { holder } from "../app/inbox/holder.js";
import { sentences, unsettled } from "../app/inbox/receipts.js";
import { countdown, mondayAt } from "../app/inbox/times.js";
import { step } from "../app/inbox/list.js";
import { shift } from "../app/inbox/virtual.js";
import { en } from "./english.js";
import { es } from "../app/words/es.js";
import { pt } from "../app/words/pt.js";
import { ru } from "../app/words/ru.js";
import { conversation } from "./made.js";

const receipt = (more) => ({
  conversation_id: "c", mode: "HUMAN", mode_version: 5, changed: true, generation_cancelled: false, parts_already_sent: 0, parts_discarded: 0,
  follow_up_cancelled: false, settled: true, in_flight: [], at_provider: [], generation_ms: null, answering: false, mode_until: null, assignee: null, ...more,
});

/** As it is read, with what goes in. */
const words = (all) => all.map(({ key, given = {}, ms }) => {
  const found = en[key];
  assert.ok(found, key);
  const text = typeof found === "string" ? found : found[given.count === 1 ? "one" : "other"];
  return text.replace(/\{(\w+)\}/g, (_, name) => (name === "time" ? `${ms / 1000} s` : given[name]));
}).join(" ");

test("a receipt says what was stopped, in words", () => {
  assert.equal(
    words(sentences(receipt({ generation_cancelled: true, generation_ms: 1800, parts_already_sent: 1, parts_discarded: 2, follow_up_cancelled: true }))),
    "Stopped the AI while it was writing, after 1.8 s. 1 of 3 messages had already gone. 2 were discarded. The follow-up was called off.");
  assert.equal(words(sentences(receipt({ parts_discarded: 1 }))), "Nothing had left. 1 message was discarded. Nothing more will leave.");
  assert.equal(words(sentences(receipt({}))), "Nothing of the AI was under way.");
  assert.equal(words(sentences(receipt({ changed: false }))), "A person was answering already, and nothing of the AI was under way.");
});

test("a takeover that stopped all of it in time says so, and that nothing more will leave", () => {
  const stopped = (more) => words(sentences(receipt({ generation_cancelled: true, ...more })));
  assert.equal(stopped({ parts_discarded: 3 }), "Stopped the AI while it was writing. Nothing had left. 3 messages were discarded. Nothing more will leave.");
  assert.equal(stopped({ follow_up_cancelled: true }), "Stopped the AI while it was writing. Nothing had left. The follow-up was called off. Nothing more will leave.");
  // Not as long as anything is on its way, or lies with the provider.
  for (const open of [{ settled: false }, { settled: false, in_flight: ["a"] }, { in_flight: ["a"] }, { at_provider: ["a"] }]) {
    assert.equal(stopped({ parts_discarded: 3, ...open }), "Stopped the AI while it was writing. 3 messages were discarded.", JSON.stringify(open));
  }
  for (const [tag, all] of Object.entries({ en, es, pt, ru })) for (const { key } of sentences(receipt({ generation_cancelled: true, parts_discarded: 3 }))) assert.ok(all[key], `${tag} ${key}`);
});

test("giving back says whether the AI answers now", () => {
  assert.equal(words(sentences(receipt({ mode: "AI", answering: true }))), "The AI answers from here. It is answering what waits now.");
});

test("what is not settled is said, and what the provider has is said to be beyond recall", () => {
  assert.deepEqual(unsettled(receipt({})), []);
  assert.equal(words(unsettled(receipt({ settled: false, in_flight: ["a", "b"] }))), "Not settled yet: 2 messages may still arrive.");
  assert.equal(words(unsettled(receipt({ at_provider: ["a"] }))), "1 message is with WhatsApp's provider already and cannot be called back.");
});

test("who answers is told from who was asked to", () => {
  const who = (more, mine = "me") => holder(conversation(more), mine).who;
  assert.equal(who({}), "ai");
  assert.equal(who({ mode: "HUMAN", mode_actor: "assistant" }), "nobody");
  assert.equal(who({ mode: "HUMAN", mode_actor: "contact" }), "nobody");
  assert.equal(who({ mode: "HUMAN", mode_actor: "agent:ana" }), "agent");
  assert.equal(who({ mode: "HUMAN", mode_actor: "agent:ana", assignee: { id: "me", name: "Bo" } }), "me");
  assert.equal(who({ mode: "HUMAN", mode_actor: "phone" }), "phone");
  assert.equal(who({ mode: "HUMAN", mode_actor: "environment" }), "other_system");
  assert.equal(who({ mode: "HUMAN", mode_actor: "environment" }, "environment"), "me");
});

test("rows in view stay where they are when others pass them", () => {
  const before = ["a", "b", "c", "d", "e", "f"];
  assert.equal(shift(before, ["x", "y", ...before], 2, 3), 2);
  // One of those in view jumps to the top: the others say how far the view moved.
  assert.equal(shift(before, ["d", "a", "b", "c", "e", "f"], 2, 4), 0);
  assert.equal(shift(before, ["b", "c", "d", "e", "f"], 2, 3), -1);
  assert.equal(shift(before, [], 2, 3), 0);
});

test("whoever goes on from one that has left the list goes on where it stood", () => {
  assert.deepEqual([step(4, 4, 1), step(4, 4, -1), step(0, 0, -1)], [5, 3, 0]);
  // The next has come to its place; the one before stands where it stood.
  assert.deepEqual([step(-1, 4, 1), step(-1, 4, -1)], [4, 3]);
  assert.deepEqual([step(-1, 0, -1), step(-1, -1, 1), step(-1, -1, -1)], [0, 0, 0]);
});

test("a clock counts down to zero and no further", () => {
  assert.equal(countdown(3_723_000), "1:02:03");
  assert.equal(countdown(59_001), "1:00");
  assert.equal(countdown(-5), "0:00");
});

test("Monday is always one to come", () => {
  for (let day = 1; day <= 14; day++) {
    const now = new Date(2026, 2, day, 12).getTime();
    const at = mondayAt(now, 9);
    assert.equal(at.getDay(), 1);
    assert.ok(at.getTime() > now && at.getTime() - now <= 7 * 86_400_000);
  }
});

test("whoever erases has typed the number, however it is written, or the chat", () => {
  const mei = conversation({ chat_id: "6580000001@c.us", contact: { name: "Mei", phone: "+6580000001" } });
  for (const typed of ["+6580000001", " 65 8000-0001 ", "(65) 8000.0001", "6580000001@c.us"]) assert.ok(isConfirmed(mei, typed), typed);
  for (const typed of ["", "Mei", "6580000002", "580000001", "65800000011"]) assert.ok(!isConfirmed(mei, typed), typed);
  const group = conversation({ chat_id: "1203630@g.us", contact: { name: "Team", phone: null } });
  assert.ok(isConfirmed(group, "1203630@g.us") && !isConfirmed(group, "1203630") && !isConfirmed(group, ""));
});
