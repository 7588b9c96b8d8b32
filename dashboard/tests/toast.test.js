// Short words, and how long they stand.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { pass } from "./page.js";
import { say, toasts } from "../app/parts/toast.js";

const shown = () => toasts.peek().map(({ text }) => text);
afterEach(() => void (toasts.value = []));

test("what can be taken back stands until one has come there by keys, and while one is there", async (t) => {
  let focused = "";
  t.mock.method(document, "querySelector", (wanted) => (focused && wanted === `#${focused}:focus-within` ? {} : null));
  say("Saved");
  say("Closed", { label: "Undo", run: () => {} });
  await pass(5_000);
  assert.deepEqual(shown(), ["Closed"]);
  focused = `toast-${toasts.peek()[0].id}`;
  await pass(10_000);
  assert.deepEqual(shown(), ["Closed"]);
  focused = "";
  await pass(15_000);
  assert.deepEqual(shown(), []);
});
