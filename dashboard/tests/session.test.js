// One tab, and two people one after the other.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, asked, refusal, rest } from "./page.js";
import { lay } from "../app/inbox/desk.js";
import { setOwed } from "../app/state/owed.js";
import { hasEnded, look, me, signIn } from "../app/state/session.js";

const sits = async (id) => {
  answers.set("GET /me", id ? { id } : refusal(401, "unauthorized"));
  look().catch(() => {});
  await rest();
};

test("who comes back goes on where they were; anybody else begins with a page of their own", async () => {
  let anew = 0;
  location.reload = () => (anew += 1);
  for (const id of ["ana", null, "ana"]) await sits(id);
  assert.deepEqual([me.peek().id, anew], ["ana", 0]);
  await sits(null);
  await sits("bo");
  // Until the page is gone nobody sits here, and nothing of Ana's is shown.
  assert.deepEqual([me.peek(), anew], [null, 1]);
});

test("of a file that goes with a text, a page that is loaded anew knows at least that it is gone", async () => {
  me.value = { id: "ana" };
  lay("bo", { text: "the offer", file: new File(["x"], "offer.pdf") });
  const { deskOf, lay: layAnew } = await import("../app/inbox/desk.js?anew");
  const stands = () => [deskOf("bo").peek().text, deskOf("bo").peek().file?.name ?? null, deskOf("bo").peek().lost];
  assert.deepEqual(stands(), ["the offer", null, "offer.pdf"]);
  layAnew("bo", { text: "the offer, again" });
  assert.deepEqual(stands(), ["the offer, again", null, "offer.pdf"]);
  layAnew("bo", { file: new File(["x"], "offer.pdf") });
  assert.deepEqual(stands(), ["the offer, again", "offer.pdf", null]);
});

test("what one person has written in a tab is not the next one's", async () => {
  me.value = { id: "ana" };
  lay("mei", { text: "half a letter" });
  setOwed("mei", [{ key: "k", kind: "text", text: "unsent", file: null }]);
  // The modules of a page that is loaded anew.
  const next = async (id) => {
    me.value = { id };
    const [{ deskOf }, { owedOf }] = await Promise.all([import(`../app/inbox/desk.js?${id}`), import(`../app/state/owed.js?${id}`)]);
    return [deskOf("mei").peek().text, owedOf("mei").peek().map((it) => it.text)];
  };
  assert.deepEqual(await next("bo"), ["", []]);
  assert.deepEqual(await next("ana"), ["half a letter", ["unsent"]]);
});

test("what one person likes is not the next one's, on the page or on the next", async () => {
  me.value = null;
  // Whoever was here before this was kept by name is nobody in particular.
  localStorage.setItem("baton.preferences", JSON.stringify({ theme: "dark" }));
  let pages = 0;
  const page = async () => (await import(`../app/state/preferences.js?${(pages += 1)}`));
  const first = await page();
  assert.equal(first.preferences.peek().theme, "dark", "until it is known who sits here");
  me.value = { id: "ana", email: "ana@shop.test", preferences: {} };
  assert.equal(first.preferences.peek().theme, "system");
  answers.set("PATCH /me", {});
  await first.prefer({ theme: "light", sound: false });

  const next = await page();
  assert.deepEqual([next.preferences.peek().theme, next.preferences.peek().sound], ["light", false]);
  me.value = { id: "bo", email: "bo@shop.test", preferences: { language: "es" } };
  const likes = ({ theme, language, sound }) => [theme, language, sound];
  assert.deepEqual(likes(next.preferences.peek()), ["system", "es", true]);
  await next.prefer({ theme: "dark" });
  assert.deepEqual(likes(asked.findLast(({ path }) => path === "PATCH /me").body.preferences), ["dark", "es", true]);
  assert.deepEqual(likes((await page()).preferences.peek()), ["dark", "es", true]);
});

test("a link that is refused ends no session; a session that the server no longer knows has ended", async () => {
  me.value = { id: "ana" };
  hasEnded.value = false;
  answers.set("POST /session", refusal(401, "unauthorized"));
  await assert.rejects(signIn({ link: "void" }), { status: 401 });
  assert.deepEqual([me.peek()?.id, hasEnded.peek()], ["ana", false]);
  answers.set("GET /me", refusal(401, "unauthorized"));
  await assert.rejects(look(), { status: 401 });
  assert.deepEqual([me.peek(), hasEnded.peek()], [null, true]);
});
