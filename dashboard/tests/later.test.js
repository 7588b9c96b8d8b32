import assert from "node:assert/strict";
import { test } from "node:test";
import { pass } from "./page.js";
import { effect } from "../app/vendor/preact.js";
import { later } from "../app/inbox/later.js";
import { inMinutes } from "../app/inbox/times.js";

test("half an hour is half an hour from the press, however long the menu stood there, and the menu shows so", async () => {
  let taken = null;
  let item;
  const stop = effect(() => {
    item = later("clock", "mode.in_half_hour", (now) => inMinutes(now, 30), (until) => (taken = until));
  });
  const [first, hint] = [item, item.hint];
  await pass(40 * 60_000);
  first.run();
  assert.equal(taken.getTime(), Date.now() + 30 * 60_000);
  assert.notEqual(item.hint, hint);
  stop();
});
