// One tab, and two people one after the other.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, refusal, rest } from "./page.js";
import { lay } from "../app/inbox/desk.js";
import { setOwed } from "../app/state/owed.js";
import { look, me } from "../app/state/session.js";

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
