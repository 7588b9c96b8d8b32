// What comes of what was said, for an agent who has gone on meanwhile.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, later, rest } from "./page.js";
import { conversation, message } from "./made.js";
import { keep } from "../app/state/conversations.js";
import { isUnsent, owedOf } from "../app/state/owed.js";
import { route } from "../app/state/route.js";
import { toasts } from "../app/parts/toast.js";
import { deskOf, lay } from "../app/inbox/desk.js";
import { opened, show } from "../app/inbox/opened.js";
import { sayWritten, seeThrough } from "../app/inbox/saying.js";

const words = (text) => ({ kind: "text", text, draft: null, quoted: null, file: null });

test("who has gone on is told what did not go, and is led there; who is still there sees it in the thread", async (t) => {
  keep(conversation({ id: "mei", chat_id: "1", contact: { name: "Mei", phone: null }, updated_at: "1" }));
  const sends = later();
  answers.set("POST /conversations/mei/messages", () => sends.answer);
  show("mei");
  t.after(() => show(null));
  const { thread } = opened.peek();
  const first = seeThrough("mei", thread.say(words("yes")));
  show("bo");
  assert.equal(isUnsent("mei"), false);
  sends.fail();
  assert.equal((await first)?.code, "unreachable");
  assert.deepEqual(toasts.peek().map((one) => [one.text, one.isBad]), [["Not confirmed: what you wrote in the conversation with Mei.", true]]);
  assert.equal(isUnsent("mei"), true);
  // It stays until it is put away, and leads there.
  toasts.peek()[0].act.run();
  assert.deepEqual([route.peek().page, route.peek().id], ["inbox", "mei"]);

  toasts.value = [];
  show("mei");
  await seeThrough("mei", opened.peek().thread.bring(owedOf("mei").peek()[0]));
  await rest();
  assert.deepEqual(toasts.peek(), []);
});

test("the field is emptied when what stood in it is owed, and keeps it if that cannot be", async (t) => {
  show("bo");
  t.after(() => show(null));
  const { thread } = opened.peek();
  lay("bo", { text: " yes ", isNote: false });
  t.mock.method(crypto, "getRandomValues", () => assert.fail("no chance"), { times: 1 });
  assert.throws(() => sayWritten(thread), /no chance/);
  assert.deepEqual([deskOf("bo").peek().text, owedOf("bo").peek()], [" yes ", []]);
  const going = sayWritten(thread);
  assert.deepEqual([deskOf("bo").peek().text, owedOf("bo").peek().map((it) => it.text)], ["", ["yes"]]);
  await going.catch(() => {});
});

test("a suggestion beside which a quote was chosen goes with that, and not as the suggestion", async (t) => {
  show("bo");
  t.after(() => show(null));
  const { thread } = opened.peek();
  const goes = async (quoted) => {
    lay("bo", { text: "yes", quoted, draft: { id: "d", text: "yes" } });
    const going = sayWritten(thread).catch(() => {});
    const { kind, draft, quoted: beside } = owedOf("bo").peek().at(-1);
    await going;
    return [kind, draft?.id, beside?.id];
  };
  assert.deepEqual(await goes(null), ["draft", "d", undefined]);
  assert.deepEqual(await goes(message(3, "contact")), ["text", undefined, "m3"]);
});

test("after a note the next one is a note; what waits beside it for the contact comes first", async (t) => {
  show("bo");
  t.after(() => show(null));
  const { thread } = opened.peek();
  const after = async (more) => {
    lay("bo", { text: "haggles", isNote: true, quoted: null, file: null, ...more });
    await sayWritten(thread).catch(() => {});
    const { text, isNote } = deskOf("bo").peek();
    return [text, isNote];
  };
  assert.deepEqual(await after({}), ["", true]);
  assert.deepEqual(await after({ quoted: message(3, "contact") }), ["", false]);
  assert.deepEqual(await after({ file: new File(["x"], "a.txt") }), ["", false]);
});
