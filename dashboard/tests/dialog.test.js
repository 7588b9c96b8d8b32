import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { keeper } from "../app/parts/dialog.js";

test("what is typed in a dialog goes by no click beside it, and by a second Escape", () => {
  let fields = ["", true];
  const typed = keeper(() => fields);
  assert.deepEqual([typed.isTyped(), typed.yields()], [false, true]);
  fields = ["half a letter", true];
  assert.deepEqual([typed.isTyped(), typed.yields(), typed.yields()], [true, false, true]);
  // Whoever goes on writing is asked again.
  fields = ["a letter", true];
  assert.deepEqual([typed.yields(), typed.yields()], [false, true]);
  fields = ["", true];
  assert.deepEqual([typed.isTyped(), typed.yields()], [false, true], "taken back");
  // In place of the form stands what came of it.
  fields = [];
  assert.deepEqual([typed.isTyped(), typed.yields()], [false, true]);
});
