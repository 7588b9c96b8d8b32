import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { drawn } from "./drawn.js";
import { conversation, message } from "./made.js";
import { pastedFiles } from "../app/inbox/attached.js";
import { Composer, Told } from "../app/inbox/composer.js";
import { lay } from "../app/inbox/desk.js";
import { Foot } from "../app/inbox/inbox.js";
import { fill, matching, slashed, unfilled, valuesOf } from "../app/inbox/variables.js";
import { me } from "../app/state/session.js";
import { channels } from "../app/state/shelf.js";

const known = { contact: { name: "Mei Lin", phone: null }, agent: "Ana", channel: "The shop" };

test("what is known goes in, with or without another word for it", () => {
  const text = 'Dear {{contact.first_name|"friend"}} ({{ contact.name }}), {{agent.name}} of {{channel.title}}';
  assert.equal(fill(text, valuesOf(known)), "Dear Mei (Mei Lin), Ana of The shop");
});

test("what is not known takes the other word, or stays to be seen and holds the message", () => {
  const values = valuesOf({ contact: { name: " ", phone: null }, agent: null, channel: null });
  const text = fill('Hello {{contact.first_name|"there"}}, is {{contact.phone}} right?', values);
  assert.equal(text, "Hello there, is {{contact.phone}} right?");
  assert.deepEqual(unfilled(text), ["contact.phone"]);
  assert.deepEqual(unfilled("{{something.else}} and {{contact.phone}} {{contact.phone}}"), ["contact.phone"]);
});

test("a name that looks like a replacement pattern or a variable is only a name", () => {
  const values = valuesOf({ ...known, contact: { name: "$& {{agent.name}}", phone: null } });
  assert.equal(fill("{{contact.name}}", values), "$& {{agent.name}}");
});

test("a slash looks for a canned reply where a word begins, and nowhere else", () => {
  assert.deepEqual(slashed("/ho"), { q: "ho", from: 0 });
  assert.deepEqual(slashed("Hello\n/"), { q: "", from: 6 });
  for (const text of ["and/or", "https://a", "1/2", "/ho rs"]) assert.equal(slashed(text), null, text);
});

test("shortcuts that begin so come first, then those that hold it, then texts", () => {
  const all = [{ shortcut: "z", text: "our hours" }, { shortcut: "open-hours", text: "" }, { shortcut: "hours", text: "" }, { shortcut: "x", text: "" }];
  assert.deepEqual(matching(all, "Hou").map((it) => it.shortcut), ["hours", "open-hours", "z"]);
});

test("what is pasted with its words is those words; a picture alone is a file, and so is one with its name", () => {
  const files = [new File(["x"], "cells.png", { type: "image/png" })];
  const pasted = (text) => pastedFiles({ getData: () => text, files });
  assert.equal(pasted("Blue bowl\t40\r\n"), undefined);
  assert.equal(pasted(""), files);
  assert.equal(pasted("cells.png\n"), files);
  assert.equal(pastedFiles(null), undefined);
});

test("whoever writes is told that the number sends nothing, and nothing while it does or is not known", () => {
  const says = (state, name = "shop") => {
    channels.items.value = [{ name: "other", state: "blocked" }, { name, state }];
    return drawn(Told({ it: conversation({ id: "c", channel: name }) }));
  };
  assert.equal(says("notAuthorized"), "Phone not linked . Nothing comes or goes. What is owed to contacts waits in Baton, where a takeover still stops it.");
  assert.match(says("banned"), /^banned . Green API names a state that this page does not know/);
  for (const state of ["authorized", null]) assert.equal(says(state), "");
  assert.equal(says("notAuthorized", "sandbox"), "");
  lay("c", { text: "Dear Mei" });
  assert.match(says("blocked"), /^Banned by WhatsApp .* Sending takes over from the AI\.$/);
  // A note goes to nobody outside.
  lay("c", { isNote: true });
  assert.doesNotMatch(says("blocked"), /Banned/);
});

test("whoever sends a suggestion is told what that does besides, as with words of their own", () => {
  channels.items.value = [];
  const says = (more) => drawn(Told({ it: conversation({ id: "d", channel: "shop", ...more }) }));
  lay("d", { text: "Dear Mei", draft: { id: "s", text: "Dear Mei" } });
  assert.equal(says({}), "From the AI's suggestion. Change it as you like. Sending takes over from the AI.");
  assert.equal(says({ mode: "HUMAN", assignee: { id: "bo", name: "Bo" } }), "From the AI's suggestion. Change it as you like. Bo answers here. Your message goes out all the same.");
  // With a quote it goes as words of one's own.
  lay("d", { quoted: message(1, "contact") });
  assert.equal(says({}), "Sending takes over from the AI.");
});

test("there is a field where somebody can be written to, and no other", (t) => {
  const before = me.peek();
  t.after(() => (me.value = before));
  me.value = { role: "agent" };
  const foot = (chat_id) => Foot({ it: conversation({ id: "e", chat_id, merged_into: null }) });
  for (const chat of ["6580000001@c.us", "100000000000001@lid", "120363000000000001@g.us"]) assert.equal(foot(chat).type, Composer, chat);
  for (const chat of ["status@broadcast", "120363000000000002@newsletter"]) assert.match(drawn(foot(chat)), /nobody can be written to here/, chat);
});
