// How it stands now, as the overview tells it.

import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { drawn } from "./drawn.js";
import { Now } from "../app/pages/overview/now.js";
import { dayOf, lastOf } from "../app/pages/overview/overview.js";

const nothing = { inbox: 0, inbox_oldest_ms: 0, outbox: {}, outbox_oldest_ms: 0, dead_letters: {}, conversations: {}, attention: {}, follow_ups: 0 };
/** @param {any} given */
const told = (given) => drawn(Now({ now: nothing, needed: null, channels: [], channel: "", ...given }));

test("whoever waits for a person is told of before anybody was called", () => {
  assert.match(told({}), /A person is needed 0 nobody waits for a person/);
  assert.match(told({ needed: 10 }), /A person is needed 10 To the inbox/);
  assert.match(told({ needed: 3, now: { ...nothing, attention: { stale: 1 } } }), /A person is needed 3 /);
  assert.match(told({ now: { ...nothing, attention: { stale: 1 } } }), /A person is needed 1 /, "by the calls, until the counts are there");
});

test("a day of the business is called by its name, wherever whoever looks sits", (t) => {
  const here = process.env.TZ;
  t.after(() => (here === undefined ? delete process.env.TZ : (process.env.TZ = here)));
  const midnights = { Singapore: "2026-11-29T16:00:00Z", Kathmandu: "2026-11-29T18:15:00Z", UTC: "2026-11-30T00:00:00Z", "New York": "2026-11-30T05:00:00Z" };
  for (const zone of ["America/Los_Angeles", "America/New_York", "UTC", "Asia/Singapore", "Pacific/Auckland"]) {
    process.env.TZ = zone;
    for (const [of, from] of Object.entries(midnights)) assert.equal(dayOf(from), "Nov 30", `${of}, from ${zone}`);
  }
  // Also where it is a day ahead of UTC.
  for (const zone of ["Pacific/Auckland", "Australia/Sydney"]) {
    process.env.TZ = zone;
    assert.equal(dayOf("2026-11-29T11:00:00Z"), "Nov 30", zone);
  }
});

test("a range has as many days as it says, wherever whoever looks sits", () => {
  const days = (count) => Array.from({ length: count }, (_, day) => day);
  assert.deepEqual(lastOf(days(8), "week"), [1, 2, 3, 4, 5, 6, 7], "with one before, that had begun there");
  assert.deepEqual(lastOf(days(6), "week"), days(6));
  assert.deepEqual([lastOf(days(31), "month").length, lastOf(days(24), "day").length], [30, 24]);
});
