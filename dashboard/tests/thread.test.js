import assert from "node:assert/strict";
import { test } from "node:test";
import { entries, firstUnread } from "../app/inbox/entries.js";
import { fate, mends, stillOwed } from "../app/inbox/fates.js";
import { hits, summary } from "../app/inbox/summary.js";
import { letterOf, sealOf, spoke, verdict } from "../app/inbox/verdicts.js";
import { conversation, delivery, message, reply } from "./made.js";

/** The thread as a person would read it. */
function read(messages, given = {}) {
  const it = conversation(given.conversation);
  const { isEnd = true } = given;
  const spoken = spoke(messages, isEnd);
  const verdictOf = (one) => verdict(one, it, spoken);
  return entries(messages, { newFrom: null, newCount: 0, events: [], verdictOf, isEnd, ...given })
    .filter((one) => one.type !== "day")
    .map((one) => one.type === "new" ? "--- new ---"
      : one.type === "event" ? `* ${one.event.type}`
      : `${one.isFirst ? `${one.messages[0].author}: ` : ""}${one.messages.map((m) => m.seq).join("+")}${one.verdict ? ` (${one.verdictCount} ${one.verdict.why}: ${one.verdict.acts})` : ""}`);
}

test("the parts of one reply are one bubble, and two replies are two", () => {
  const messages = [message(1, "contact"), ...reply(2, "t1", "read", "sent", "cancelled"), ...reply(5, "t2", "sent", "sent")];
  assert.deepEqual(read(messages), ["contact: 1", "assistant: 2+3+4", "5+6"]);
});

test("a part whose reply begins before what is loaded stands alone", () => {
  assert.deepEqual(read(reply(1, "t1", "read", "read", "read").slice(1)), ["assistant: 2+3"]);
});

test("a verdict is drawn anew when what it offers is another", () => {
  const it = message(1, "contact", { outcome: "left_to_human", outcome_reason: "mode_human" });
  const seal = (more, ...others) => {
    const of = conversation(more);
    return sealOf(verdict(it, of, spoke([it, ...others], true)), 1, of);
  };
  assert.equal(seal({}), seal({ updated_at: "2" }));
  for (const more of [{ status: "closed" }, { mode_version: 2 }, { assignee: { id: "bo" } }]) assert.notEqual(seal({}), seal(more), JSON.stringify(more));
  const answered = (name) => message(2, "agent", { agent: { id: name, name }, delivery: delivery("sent") });
  assert.equal(new Set([seal({}), seal({}, answered("Ana")), seal({}, answered("Bo"))]).size, 3);
});

test("one verdict stands below the last of the messages that share it", () => {
  const left = { outcome: "left_to_human", outcome_reason: "mode_human" };
  const messages = [message(1, "contact", left), message(2, "contact", left), message(3, "contact", { outcome: "ignored", outcome_reason: "sticker" })];
  assert.deepEqual(read(messages), ["contact: 1", "2 (2 mode_human: answer)", "3 (1 sticker: )"]);
});

test("what happened stands between the messages it happened between; what came before them all does not", () => {
  const events = [{ id: "a", at: "2026-03-01T00:00:00Z", type: "old" }, { id: "b", at: "2026-03-02T09:01:30Z", type: "mode_changed" }, { id: "c", at: "2026-03-02T10:00:00Z", type: "closed" }];
  assert.deepEqual(read([message(1, "contact"), message(2, "agent")], { events }), ["contact: 1", "* mode_changed", "agent: 2", "* closed"]);
});

test("where newer messages are not loaded, what happened after these is not told, and nothing is offered that they may have settled", () => {
  const left = message(1, "contact", { outcome: "left_to_human", outcome_reason: "mode_human" });
  const events = [{ id: "a", at: "2026-03-02T09:01:30Z", type: "mode_changed" }, { id: "b", at: "2026-03-02T10:00:00Z", type: "closed" }];
  const messages = [left, message(2, "contact")];
  assert.deepEqual(read(messages, { events }), ["contact: 1 (1 mode_human: answer)", "* mode_changed", "contact: 2", "* closed"]);
  assert.deepEqual(read(messages, { events, isEnd: false }), ["contact: 1 (1 mode_human: )", "* mode_changed", "contact: 2"]);
});

test("the line above what is new stands before the first unread message of the contact", () => {
  const messages = [message(1, "contact"), message(2, "contact"), message(3, "assistant"), message(4, "contact", { kind: "reaction" }), message(5, "contact")];
  assert.equal(firstUnread(messages, 2), 2);
  assert.equal(firstUnread(messages, 0), null);
  assert.deepEqual(read(messages, { newFrom: 2 }).slice(0, 3), ["contact: 1", "--- new ---", "contact: 2"]);
});

test("a message that somebody answered after all offers nothing to mend", () => {
  const left = message(1, "contact", { outcome: "left_to_human", outcome_reason: "mode_human" });
  const answered = message(2, "agent", { agent: { id: "a", name: "Ana" }, delivery: delivery("sent") });
  const withdrawn = message(2, "agent", { delivery: delivery("cancelled") });
  const note = message(2, "agent", { kind: "note" });
  assert.deepEqual(verdict(left, conversation(), spoke([left, answered], true)), { why: "person_answered", tone: "quiet", acts: [], by: "Ana" });
  const unread = (kind) => verdict({ ...left, kind, outcome: "handed_over", outcome_reason: "undecryptable" }, conversation(), spoke([left], true))?.why;
  assert.deepEqual([unread("voice"), unread("audio"), unread("text")], ["unheard", "unheard", "undecryptable"]);
  for (const nothing of [withdrawn, note]) assert.deepEqual(verdict(left, conversation(), spoke([left, nothing], true))?.acts, ["answer"]);
});

test("who answered is who spoke first after the question, and what was withdrawn is no answer", () => {
  const left = (seq) => message(seq, "contact", { outcome: "left_to_human", outcome_reason: "mode_human" });
  const says = (seq, name, state = "sent") => message(seq, "agent", { agent: { id: name, name }, delivery: delivery(state) });
  const messages = [left(1), says(2, "Cleo", "cancelled"), says(3, "Ben"), left(4), says(5, "Ana"), left(6)];
  const by = (it) => verdict(it, conversation(), spoke(messages, true))?.by;
  assert.deepEqual(messages.filter(({ author }) => author === "contact").map(by), ["Ben", "Ana", null]);
});

test("what waits is said to wait, as far as is known", () => {
  const it = message(1, "contact", { outcome: "pending" });
  assert.equal(verdict(it, conversation({ activity: "generating" }), spoke([it], true))?.why, "pending_generating");
  assert.equal(verdict(it, conversation({ mode: "HUMAN" }), spoke([it], true))?.why, "pending");
  assert.equal(verdict(message(1, "contact"), conversation(), spoke([], true)), null);
});

test("the dead letter of a message is found by the message or by its burst", () => {
  const letters = [{ id: "x", payload: null }, { id: "a", payload: { message_ids: ["m1", "m2"] } }, { id: "b", payload: { message_id: "m3" } }];
  assert.equal(letterOf(letters, "m2")?.id, "a");
  assert.equal(letterOf(letters, "m3")?.id, "b");
  assert.equal(letterOf(letters, "m4"), null);
});

test("a reply that was cut short says how much of it left", () => {
  assert.deepEqual(fate(reply(1, "t", "read", "cancelled", "cancelled")), { isMixed: true, state: "read", gone: 1, withdrawn: 2, of: 3 });
  assert.equal(fate([message(1, "contact")]), null);
});

test("only what can be mended offers it", () => {
  const of = (author, state) => mends(message(1, author, { delivery: delivery(state) })).join();
  assert.equal(of("agent", "queued"), "withdraw");
  assert.equal(of("assistant", "queued"), "");
  assert.equal(of("agent", "unknown"), "confirm,retry_unknown");
  assert.equal(of("assistant", "failed"), "retry");
  assert.equal(of("agent", "sent"), "");
});

test("what the feed brings before the answer does is not shown twice, and the same words sent twice are two", () => {
  const owed = (key, problem = null) => ({ key, kind: "text", text: "yes", draft: null, quoted: null, at: "", after: 4, problem });
  const mine = message(5, "agent", { text: "yes" });
  assert.deepEqual(stillOwed([owed("a"), owed("b")], [message(4, "agent", { text: "yes" }), mine]).map((it) => it.key), ["b"]);
  assert.equal(stillOwed([owed("a", new Error())], [mine]).length, 1);
});

test("a line of a list is one line, and says what is no text", () => {
  assert.deepEqual(summary(message(1, "contact", { text: " a\n\n b " })), { kind: null, text: "a b" });
  assert.deepEqual(summary(message(1, "contact", { kind: "document", text: "", media: { file_name: "a.pdf", caption: null, transcript: null } })), { kind: "document", text: "a.pdf" });
  assert.deepEqual(summary(message(1, "contact", { deleted_at: "x" })), { kind: "deleted", text: "" });
});

test("what was searched for is marked as text, never as markup", () => {
  assert.deepEqual(hits("A <b>bowl</b>, bowls", "BOWL").filter((it) => it.isHit).map((it) => it.text), ["bowl", "bowl"]);
  assert.deepEqual(hits("İstanbul", "i"), [{ text: "İstanbul", isHit: false }]);
});
