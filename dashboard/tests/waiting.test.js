// How long a contact has waited, as the list and the panel tell it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pass } from "./page.js";
import { drawn } from "./drawn.js";
import { conversation } from "./made.js";
import { me } from "../app/state/session.js";
import { Attention } from "../app/inbox/attention.js";
import { When } from "../app/inbox/row.js";

const at = (minutes) => new Date(Date.parse("2026-03-02T09:00:00Z") + minutes * 60_000).toISOString();
const says = (more) => {
  const it = conversation({ id: "c", mode: "HUMAN", last_message: null, created_at: at(0), waiting_since: at(0), ...more });
  return [drawn(When({ it })), drawn(Attention({ it }) ?? "")];
};

test("whoever is found to wait long has waited since they wrote", async () => {
  me.value = { id: "ana", role: "read" };
  await pass(20 * 60_000);
  assert.deepEqual(says({ attention: null }), ["Waits for 20 min", ""]);
  assert.deepEqual(says({ attention: { reason: "human_overdue", since: at(20) } }), ["Waits for 20 min", "The contact has waited long for a person. For 20 min."]);
  // A failure of before they wrote needed somebody since then.
  assert.deepEqual(says({ waiting_since: at(5), attention: { reason: "ai_failure", since: at(0) } }), ["Waits for 20 min", "The AI could not answer. For 20 min."]);
  assert.deepEqual(says({ waiting_since: null, attention: { reason: "human_overdue", since: at(10) } })[1], "The contact has waited long for a person. For 10 min.");
});
