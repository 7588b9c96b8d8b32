// How it stands now, as the overview tells it.

import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { drawn } from "./drawn.js";
import { Now } from "../app/pages/overview/now.js";

const nothing = { inbox: 0, inbox_oldest_ms: 0, outbox: {}, outbox_oldest_ms: 0, dead_letters: {}, conversations: {}, attention: {}, follow_ups: 0 };
/** @param {any} given */
const told = (given) => drawn(Now({ now: nothing, needed: null, channels: [], channel: "", ...given }));

test("whoever waits for a person is told of before anybody was called", () => {
  assert.match(told({}), /A person is needed 0 nobody waits for a person/);
  assert.match(told({ needed: 10 }), /A person is needed 10 To the inbox/);
  assert.match(told({ needed: 3, now: { ...nothing, attention: { stale: 1 } } }), /A person is needed 3 /);
  assert.match(told({ now: { ...nothing, attention: { stale: 1 } } }), /A person is needed 1 /, "by the calls, until the counts are there");
});
