import assert from "node:assert/strict";
import { test } from "node:test";
import { pass } from "./page.js";
import { effect } from "../app/vendor/preact.js";
import { day, lately } from "../app/words/index.js";

const HOUR_MS = 3_600_000;

test("a page that is open overnight says of yesterday that it was yesterday", async () => {
  const at = Date.now();
  const said = [];
  effect(() => void said.push(day(at)));
  effect(() => void said.push(/\d:\d/.test(lately(at)) ? "the time" : lately(at)));
  assert.deepEqual(said.splice(0), ["Today", "the time"]);
  await pass(24 * HOUR_MS);
  assert.deepEqual(said, ["Yesterday", "Mon"]);
});
