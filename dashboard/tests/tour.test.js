// The tour notices by itself when a step is done, from the events that Baton tells.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, line, rest } from "./page.js";
import { choose, chosen, contacts, follow, loadContacts } from "../app/playground/contacts.js";
import { withoutKeys } from "../app/playground/tour.js";
import { next, resume, start, stop, tour } from "../app/playground/tour_run.js";
import { after, afterKnob, begin } from "../app/playground/tour_steps.js";
import { open as openFeed } from "../app/state/feed.js";
import { go } from "../app/state/route.js";
import { me } from "../app/state/session.js";
import { fetchPageWords } from "../app/words/index.js";
import { en } from "./english.js";
import { es } from "../app/words/es.js";
import { pt } from "../app/words/pt.js";
import { ru } from "../app/words/ru.js";

await fetchPageWords();

const CALM = { mode: "AI", isTroubled: false };

/** @param {string} type @param {Record<string, any>} [details] @param {Record<string, any>} [rest] */
const event = (type, details = {}, rest = {}) => ({ type, details, action: null, message: null, ...rest });
const wrote = event("message_received", { kind: "text" });
const taken = event("mode_changed", { from: "AI", to: "HUMAN", reason: "agent_button" });
const given = event("mode_changed", { from: "HUMAN", to: "AI", reason: "released" });
const began = (messages) => event("turn_started", { attempt: 1, messages });
const part = (number, of, author = "assistant") => event("message_sent", { part: number, parts: of }, { message: { author } });

/** The phases that a story goes through. */
function phases(step, story, world = CALM) {
  let tour = begin(step, world);
  return [tour.phase, ...story.map((event) => (tour = after(tour, event, world)).phase)];
}

test("three messages that are answered together are step one", () => {
  assert.deepEqual(phases(1, [wrote, wrote, wrote, began(3), event("turn_completed"), part(1, 1)]), ["write", "write", "write", "wait", "look", "look", "done"]);
});

test("an answer that was begun anew is waited for anew", () => {
  assert.deepEqual(phases(1, [wrote, wrote, wrote, began(3), event("turn_superseded"), began(4), part(1, 1)]).slice(-4), ["look", "wait", "look", "done"]);
});

test("whoever writes too slowly is not done, and may write again", () => {
  const slowly = [wrote, began(1), event("turn_completed"), part(1, 1), wrote, wrote, began(2), event("turn_completed"), part(1, 1)];
  assert.equal(phases(1, slowly).at(-1), "write");
  assert.equal(phases(1, [...slowly, wrote, wrote, wrote, began(3), event("turn_completed"), part(1, 1)]).at(-1), "done");
});

test("a takeover that stops the writing is step two", () => {
  assert.deepEqual(phases(2, [wrote, began(1), event("mode_change_during_generation"), taken]), ["ask", "ask", "press", "press", "done"]);
});

test("so is one that holds back what was written, on whichever side of the change it is told", () => {
  const held = event("mode_change_before_send");
  const written = [wrote, began(1), event("message_queued"), part(1, 3)];
  assert.equal(phases(2, [...written, held, taken]).at(-1), "done");
  assert.equal(phases(2, [...written, taken, held]).at(-1), "done");
});

test("a takeover that came too late leads back to the question", () => {
  assert.deepEqual(phases(2, [wrote, began(1), part(1, 1), taken, given]), ["ask", "ask", "press", "ask", "late", "ask"]);
});

test("an answer of an agent and giving back are step three, in that order", () => {
  const agent = event("message_queued", {}, { message: { author: "agent" } });
  assert.deepEqual(phases(3, [given, agent, given]), ["answer", "answer", "give", "done"]);
  assert.deepEqual(phases(3, [part(1, 1), agent, given]), ["answer", "answer", "give", "done"]);
});

test("a send that was found again is step four", () => {
  const tour = afterKnob(begin(4, CALM), true);
  assert.equal(tour.phase, "say");
  const world = { mode: "AI", isTroubled: true };
  const found = event("send_reconciled", { by: "journal" }, { action: "confirmed_sent" });
  assert.deepEqual(phases(4, [wrote, event("send_uncertain"), found], world), ["say", "watch", "watch", "done"]);
});

test("so is one answer to a message that came twice", () => {
  const world = { mode: "AI", isTroubled: true };
  assert.deepEqual(phases(4, [wrote, event("duplicate_webhook"), part(1, 1)], world), ["say", "watch", "watch", "done"]);
  assert.equal(phases(4, [wrote, part(1, 1)], world).at(-1), "watch", "an answer alone shows nothing");
});

test("what was set right again must be set wrong again", () => {
  assert.equal(afterKnob(afterKnob(begin(4, CALM), true), false).phase, "choose");
  assert.equal(afterKnob(begin(2, CALM), true).phase, "ask");
});

test("a step that needs the assistant waits until it has the conversation", () => {
  const held = { mode: "HUMAN", isTroubled: false };
  for (const [step, first] of [[1, "write"], [2, "ask"], [4, "choose"]]) assert.deepEqual(phases(step, [wrote, given], held), ["held", "held", first]);
  assert.deepEqual(phases(1, [event("conversation_created", { mode: "HUMAN" }), wrote]), ["write", "held", "held"]);
});

test("what is done stays done", () => {
  assert.equal(phases(2, [began(1), event("mode_change_during_generation"), taken, given, wrote]).at(-1), "done");
});

test("where there is no keyboard, no step in any language speaks of keys, and each is still a sentence", () => {
  for (const words of [en, es, pt, ru]) {
    const steps = Object.entries(words).filter(([key]) => /^tour_\d/.test(key)).map(([, text]) => text);
    assert.ok(steps.some((text) => text.includes("[t]")));
    for (const text of steps) assert.doesNotMatch(withoutKeys(text), /[[\]()]|\s[.,;]|\s{2}|press|pulsa|tecle\b|нажмите/i, text);
  }
  assert.equal(withoutKeys(en["tour_2.press"]), "Now take over, before all of it has gone.");
});

test("a reload continues the tour at its step, with the contact by its name; one that was ended stays ended", async () => {
  answers.set("PATCH /sandbox", {});
  answers.set("GET /conversations", { items: [] });
  me.value = { id: "ana", role: "admin", preferences: {} };
  assert.equal(resume(), false, "nobody was shown round here");
  start();
  next();
  const mei = chosen.peek();
  // As it is with what a page knows when it is loaded again.
  const reload = async () => {
    tour.value = null;
    contacts.value = [];
    await loadContacts();
    return resume();
  };
  assert.deepEqual([await reload(), tour.peek()?.step, tour.peek()?.phase], [true, 2, "ask"]);
  assert.deepEqual(chosen.peek(), mei);
  // Also where the address names nobody, as from a bookmark: whose story it was is known all the same.
  go("/playground");
  const again = await import("../app/playground/contacts.js?again");
  await again.loadContacts();
  assert.deepEqual(again.chosen.peek(), mei);
  tour.value = { ...tour.peek(), phase: "done" };
  assert.deepEqual([await reload(), tour.peek()?.phase], [true, "done"]);
  me.value = { id: "bo", role: "admin", preferences: {} };
  assert.equal(await reload(), false, "what is kept is somebody else's");
  me.value = { id: "ana", role: "admin", preferences: {} };
  assert.equal(await reload(), true);
  stop();
  await rest();
  assert.equal(await reload(), false);
});

test("of a contact who is erased the playground keeps the number that is played, and no name", async (t) => {
  const feed = line();
  answers.set("GET /events", feed.answer);
  contacts.value = [];
  go("/playground/658%40c.us");
  const them = [["658@c.us", "Mei"], ["659@c.us", "Tom"]].map(([chat_id, name], at) => ({ id: `c${at}`, chat_id, aliases: [], contact: { name, phone: null }, updated_at: "1" }));
  answers.set("GET /conversations", { items: them });
  t.after(openFeed());
  t.after(follow());
  await rest();
  feed.write("hello", {});
  await rest();
  choose("658@c.us");
  assert.deepEqual(contacts.peek().map(({ name }) => name), ["Mei", "Tom"]);
  for (const { id } of them) feed.write("conversation_erased", { type: "conversation_erased", channel: "sandbox", conversation_id: id });
  await rest();
  assert.deepEqual(contacts.peek(), [{ chat: "658@c.us", name: "+658", conversation: null }]);
  assert.doesNotMatch(sessionStorage.getItem("baton.played"), /Mei/);
});
