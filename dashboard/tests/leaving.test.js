import assert from "node:assert/strict";
import { test } from "node:test";
import { happens } from "./page.js";
import { clear, lay } from "../app/inbox/desk.js";
import { guard } from "../app/inbox/leaving.js";
import { setOwed } from "../app/state/owed.js";
import { me } from "../app/state/session.js";

test("whoever leaves what is written or not confirmed is asked first, and nobody else", () => {
  guard();
  const isAsked = () => {
    let asks = false;
    happens.beforeunload({ preventDefault: () => (asks = true) });
    return asks;
  };
  me.value = { id: "ana" };
  assert.equal(isAsked(), false);
  lay("mei", { text: "Dear Mei" });
  assert.equal(isAsked(), true);
  lay("mei", { text: "", file: new File(["x"], "a.txt") });
  assert.equal(isAsked(), true);
  clear("mei");
  assert.equal(isAsked(), false);
  setOwed("mei", [{ key: "k", kind: "text", text: "yes", file: null }]);
  assert.equal(isAsked(), true);
  me.value = null;
  assert.equal(isAsked(), false);
});
