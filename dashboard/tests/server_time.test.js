// A computer whose clock is wrong: moments and ages go by the server's.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, later as slow, pass } from "./page.js";
import { drawn } from "./drawn.js";
import { later } from "../app/inbox/later.js";
import { inMinutes } from "../app/inbox/times.js";
import { Ago } from "../app/pages/ago.js";
import { now } from "../app/parts/now.js";
import { get } from "../app/wire/api.js";
import { serverNow } from "../app/wire/server_time.js";
import { fetchPageWords } from "../app/words/index.js";

await fetchPageWords();

const MINUTE_MS = 60_000;
const dated = (at) => new Response("{}", { headers: { date: new Date(at).toUTCString() } });
/** Asks a server whose clock is so far ahead. */
const ask = async (ms) => {
  answers.set("GET /me", dated(Date.now() + ms));
  await get("/me");
};
const ahead = () => (serverNow() - Date.now()) / MINUTE_MS;

test("by a clock that is wrong, half an hour is half an hour of the server's, and a wait is as long as it is there", async () => {
  const ago = (minutes) => drawn(Ago({ at: new Date(serverNow() - minutes * MINUTE_MS).toISOString() }));
  for (const wrong of [45, -45, 0]) {
    await ask(wrong * MINUTE_MS);
    const at = Date.now() + wrong * MINUTE_MS;
    let taken;
    later("clock", "mode.in_half_hour", (now) => inMinutes(now, 30), (until) => (taken = until)).run();
    assert.equal(taken.getTime(), at + 30 * MINUTE_MS);
    await pass(1_000);
    assert.equal(now.peek(), at + 1_000);
    assert.match(ago(10), /10 min ago/);
  }
});

test("what the way there takes is no fault of the clock, and an answer that was long on it says nothing", async () => {
  await ask(-3_000);
  assert.equal(ahead(), 0);
  const answer = slow();
  answers.set("GET /me", answer.answer);
  const asking = get("/me");
  const then = Date.now();
  await pass(20_000);
  answer.give(dated(then));
  await asking;
  assert.equal(ahead(), 0);
  // Nor one without a date.
  answers.set("GET /me", {});
  await get("/me");
  assert.equal(ahead(), 0);
});
