import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { fetchLate } from "../app/parts/fetching.js";
import { files } from "./sources.js";

test("a page that does not come, or does not go with this one, is said to be missing; a fault is to be seen besides", async (t) => {
  const said = t.mock.method(console, "error", () => {});
  const failing = (error) => fetchLate(() => Promise.reject(error));
  assert.equal(await fetchLate(async () => "page"), "page");
  assert.equal(await failing(new TypeError("Failed to fetch dynamically imported module")), null);
  assert.equal(said.mock.callCount(), 0);
  // As when a newer server's file imports what an older one does not have.
  assert.equal(await failing(new SyntaxError("no export named late")), null);
  assert.equal(said.mock.callCount(), 1);
});

test("whatever is fetched late is fetched so", () => {
  const late = files(".js").filter(({ path, text }) => !path.startsWith("words/") && /\bimport\(/.test(text.replace(/\/\*\*.*?\*\//gs, "").replace(/typeof import\(/g, "")));
  assert.deepEqual(late.filter(({ text }) => !text.includes("fetchLate(")).map(({ path }) => path), []);
  assert.ok(late.length > 1);
});
