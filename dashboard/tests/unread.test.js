import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, asked, line, pass, refusal, rest } from "./page.js";
import { conversation } from "./made.js";
import { keep } from "../app/state/conversations.js";
import { me } from "../app/state/session.js";
import { open as openFeed } from "../app/state/feed.js";
import { markRead } from "../app/inbox/acts.js";
import { leaveUnread, opened, show } from "../app/inbox/opened.js";
import { acts } from "../app/inbox/palette.js";

test("what is marked as unread stays so although it is looked at, marked from the palette too", async (t) => {
  me.value = { id: "ana", role: "agent" };
  answers.set("DELETE /conversations/mei/read", () => null);
  keep(conversation({ id: "mei", contact: { name: "Mei", phone: null }, updated_at: "1" }));
  show("mei");
  t.after(() => show(null));
  assert.equal(opened.peek().isKeptUnread.peek(), false);
  acts().find(({ id }) => id === "thread.unread").run();
  await rest();
  assert.equal(opened.peek().isKeptUnread.peek(), true);
  assert.equal(asked.filter(({ path }) => path === "DELETE /conversations/mei/read").length, 1);
  // Whoever opens it again looks at it anew.
  show(null);
  show("mei");
  assert.equal(opened.peek().isKeptUnread.peek(), false);
});

test("what could not be marked as unread is looked at as ever; of what nobody has answered nobody knows that it was not", async (t) => {
  keep(conversation({ id: "bo", contact: { name: "Bo", phone: null }, updated_at: "1" }));
  show("bo");
  t.after(() => show(null));
  const kept = async (answer) => {
    answers.set("DELETE /conversations/bo/read", answer);
    await leaveUnread(opened.peek());
    return opened.peek().isKeptUnread.peek();
  };
  assert.deepEqual([await kept(refusal(403, "forbidden")), await kept(() => Promise.reject(new TypeError("no line")))], [false, true]);
});

test("what was read while the server was away is marked when it is back, up to what was read", async (t) => {
  const READ = "POST /conversations/bo/read";
  const reads = () => asked.filter(({ path }) => path === READ).map(({ body }) => body.seq);
  const feed = line();
  answers.set("GET /events", feed.answer);
  t.after(openFeed());
  await rest();
  feed.write("hello", {});
  show("bo");
  t.after(() => show(null));
  answers.set(READ, refusal(503, "unavailable"));
  await markRead("bo", 7);
  assert.deepEqual(reads(), [7]);
  answers.set(READ, () => null);
  const back = line();
  answers.set("GET /events", back.answer);
  feed.close();
  await pass(2_000);
  assert.deepEqual(reads(), [7, 7]);
});
