// What is typed for colleagues or for the AI is not lost. The parts are asked for what they would draw.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, line, refusal, rest } from "./page.js";
import { having } from "./drawn.js";
import { conversation } from "./made.js";
import { keep } from "../app/state/conversations.js";
import { open as openFeed } from "../app/state/feed.js";
import { me } from "../app/state/session.js";
import { beside, deskOf, followErasures, lay } from "../app/inbox/desk.js";
import { NoteDialog } from "../app/inbox/mode_menu.js";
import { Notes } from "../app/inbox/notes.js";
import { opened, show } from "../app/inbox/opened.js";

test("the note beside the thread waits for who looks elsewhere, and is forgotten with an erased conversation", async (t) => {
  me.value = { id: "ana", role: "agent" };
  const feed = line();
  answers.set("GET /events", feed.answer);
  t.after(openFeed());
  t.after(() => show(null));
  t.after(followErasures());
  const field = (id) => (show(id), having(Notes({ thread: opened.peek().thread }), "onInput"));
  field("mei").onInput({ target: { value: "owes us 40" } });
  lay("mei", { text: "Dear Mei" });
  assert.deepEqual(["bo", "mei"].map((id) => field(id).value), ["", "owes us 40"]);
  await rest();
  // Also while another one is open.
  show("bo");
  feed.write("conversation_erased", { type: "conversation_erased", conversation_id: "mei" });
  await rest();
  assert.deepEqual(["mei", beside("mei")].map((id) => deskOf(id).peek().text), ["", ""]);
});

test("in one that was merged there is no field for a note", (t) => {
  me.value = { id: "ana", role: "agent" };
  t.after(() => show(null));
  show("mei");
  assert.equal(having(Notes({ thread: opened.peek().thread, isMerged: true }), "onInput"), undefined);
});

test("a note for the AI stays in its dialog until it has been taken", async () => {
  me.value = { id: "ana", role: "agent" };
  const it = conversation({ id: "mei", mode: "HUMAN", mode_actor: "agent:ana", contact: { name: "Mei", phone: null }, updated_at: "1" });
  keep(it);
  let closed = 0;
  const { onSend, words } = having(NoteDialog({ it, onClose: () => (closed += 1) }), "onSend");
  const given = new FormData();
  given.set("note", "The refund is agreed.");
  const held = { ...it, mode_version: 2, updated_at: "2", assignee: { id: "bo", name: "Bo" } };
  answers.set("PUT /conversations/mei/mode", () => new Response(JSON.stringify({ code: "version_conflict", current: held }), { status: 409 }));
  const why = await onSend(given).catch((error) => error);
  assert.deepEqual([closed, words(why)], [0, "Somebody was faster: Bo answers now. Nothing was changed by you."]);
  answers.set("PUT /conversations/mei/mode", refusal(503, "unavailable"));
  await assert.rejects(onSend(given));
  assert.equal(closed, 0);
  answers.set("PUT /conversations/mei/mode", { mode: "AI", mode_version: 3, changed: true, settled: true });
  await onSend(given);
  assert.equal(closed, 1);
});
