// Who is seen in a conversation: colleagues keep off it, or do not.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { answers, asked, line, pass, rest } from "./page.js";
import { watch } from "../app/state/live.js";

const PRESENCE = "PUT /conversations/c/presence";
const TOLD_MS = 20_000;
/** What was told since it was looked at last. */
const told = () => asked.splice(0).filter(({ path }) => path === PRESENCE).map(({ body }) => body.state);

/** What happens when the page is shown or hidden. */
let turned;
const turn = (isHidden) => {
  document.hidden = isHidden;
  turned();
};

beforeEach((t) => {
  answers.set(PRESENCE, () => null);
  answers.set("GET /conversations/c/live", () => line().answer());
  document.hidden = false;
  t.mock.method(document, "addEventListener", (_name, run) => (turned = run));
});

test("who has left is seen no more, whatever the field says when it goes", async () => {
  const it = watch("c");
  it.be("writing");
  await rest();
  assert.deepEqual(told(), ["viewing", "writing"]);
  it.close();
  it.be("viewing");
  await pass(2 * TOLD_MS);
  assert.deepEqual(told(), ["away"]);
});

test("a tab behind says that it is away once, and takes away nobody who is in front", async () => {
  const it = watch("c");
  await pass(TOLD_MS);
  assert.deepEqual(told(), ["viewing", "viewing"]);
  turn(true);
  await pass(3 * TOLD_MS);
  it.close();
  await rest();
  assert.deepEqual(told(), ["away"]);

  // One that was opened behind was never there.
  const behind = watch("c");
  await pass(TOLD_MS);
  assert.deepEqual(told(), []);
  turn(false);
  await rest();
  behind.close();
  await rest();
  assert.deepEqual(told(), ["viewing", "away"]);
});
