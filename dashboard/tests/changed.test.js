// What a form sends of what was changed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { changed } from "../app/pages/changed.js";

test("what stands there as it stood is not sent: somebody else may have changed it", () => {
  const ana = { id: "ana", name: "Ana", email: "ana@shop.test", role: "agent", channels: ["bar", "shop"] };
  const sent = (change) => changed({ name: "Ana", email: "ana@shop.test", role: "agent", channels: ["shop", "bar"], ...change }, ana);
  assert.deepEqual(sent({}), {});
  assert.deepEqual(sent({ name: "Ana Lim" }), { name: "Ana Lim" });
  assert.deepEqual(sent({ role: "admin", channels: null }), { role: "admin", channels: null });
  assert.deepEqual(sent({ channels: ["shop"] }), { channels: ["shop"] });
  assert.deepEqual(changed({ description: null }, {}), {}, "left out, or empty: there is none");
});
