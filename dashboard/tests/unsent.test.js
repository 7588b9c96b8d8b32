// What the server has not confirmed, as it is shown, and what is offered about it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answers } from "./page.js";
import { drawn } from "./drawn.js";
import { Unsent } from "../app/inbox/unsent.js";
import { Problem, post } from "../app/wire/api.js";
import { en } from "./english.js";

const HOUR_MS = 3_600_000;
const unreachable = () => new Problem({ status: 0, code: "unreachable" });
const owed = (more) => ({ key: "k", kind: "text", text: "yes", draft: null, quoted: null, file: null, at: new Date().toISOString(), after: 0, problem: unreachable(), ...more });
/** Which of these stand there. */
const said = (it, ...keys) => keys.filter((key) => drawn(Unsent({ it })).includes(en[key]));
const offers = (it) => said(it, "retry", "unsent.edit", "unsent.discard", "unsent.once", "unsent.old");

test("what was not confirmed is tried again for as long as the server knows whether it had it, and then written anew", () => {
  assert.deepEqual(offers(owed()), ["retry", "unsent.discard", "unsent.once"]);
  const old = new Date(Date.now() - 25 * HOUR_MS).toISOString();
  assert.deepEqual(offers(owed({ at: old })), ["unsent.edit", "unsent.discard", "unsent.old"]);
  // A refusal is certain, however long ago.
  assert.deepEqual(offers(owed({ at: old, problem: new Problem({ status: 422, code: "invalid" }) })), ["unsent.edit", "unsent.discard"]);
});

test("what was sent when the session had ended was refused to nobody, and is tried again", () => {
  const it = owed({ problem: new Problem({ status: 401, code: "unauthorized" }) });
  assert.deepEqual(offers(it), ["retry", "unsent.discard", "unsent.once"]);
  assert.deepEqual(said(it, "unsent.ended", "unsent.unconfirmed"), ["unsent.ended"]);
});

test("what is too large for a proxy in front is said to be that, and not to be tried again", async () => {
  answers.set("POST /conversations/mei/messages", new Response("<h1>nginx</h1>", { status: 413 }));
  const problem = await post("/conversations/mei/messages", new FormData()).catch((error) => error);
  assert.deepEqual(offers(owed({ problem })), ["unsent.edit", "unsent.discard"]);
  assert.match(drawn(Unsent({ it: owed({ problem }) })), /larger than what is let through to Baton/);
});

test("what a proxy in front had no place for, while the server is being replaced, was not refused and may be tried again", async () => {
  answers.set("POST /conversations/mei/messages", new Response("404 page not found", { status: 404 }));
  const problem = await post("/conversations/mei/messages", {}).catch((error) => error);
  assert.deepEqual(offers(owed({ problem })), ["retry", "unsent.discard", "unsent.once"]);
});
