import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, asked, rest } from "./page.js";
import { conversation } from "./made.js";
import { keep } from "../app/state/conversations.js";
import { me } from "../app/state/session.js";
import { opened, show } from "../app/inbox/opened.js";
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
