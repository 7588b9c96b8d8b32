// Taking a message back before it leaves, together with somebody else.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, refusal } from "./page.js";
import { delivery, message } from "./made.js";
import { withdraw } from "../app/inbox/sending.js";

test("whoever withdraws a message second hears of no trouble; of one that has gone otherwise they do", async () => {
  answers.set("DELETE /messages/m1", refusal(404, "not_found"));
  const stands = (state) => answers.set("GET /messages/m1", message(1, "agent", { delivery: delivery(state) }));
  stands("cancelled");
  await withdraw("m1");
  stands("read");
  await assert.rejects(withdraw("m1"), { code: "not_found" });
  answers.set("GET /messages/m1", refusal(404, "not_found"));
  await assert.rejects(withdraw("m1"), { code: "not_found" });
  stands("cancelled");
  answers.set("DELETE /messages/m1", refusal(409, "already_sent"));
  await assert.rejects(withdraw("m1"), { code: "already_sent" });
});
