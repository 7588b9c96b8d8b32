import assert from "node:assert/strict";
import { test } from "node:test";
import { pass } from "./page.js";
import { effect } from "../app/vendor/preact.js";
import { appointment, day, lately } from "../app/words/index.js";

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

test("a day of another year is named with it", () => {
  const told = (at) => [lately(at), appointment(at)].map((words) => words.replace(/,? 09:00.*/, ""));
  assert.deepEqual(told("2026-01-05T09:00:00"), ["Jan 5", "Mon, Jan 5"]);
  assert.deepEqual(told("2025-03-03T09:00:00"), ["Mar 3, 2025", "Mon, Mar 3, 2025"]);
  // As the end of a token that was made today.
  assert.deepEqual(told("2027-03-02T09:00:00"), ["Mar 2, 2027", "Tue, Mar 2, 2027"]);
});
