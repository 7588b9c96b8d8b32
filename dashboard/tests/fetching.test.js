import assert from "node:assert/strict";
import { test } from "node:test";
import { rest } from "./page.js";
import { fetchLate } from "../app/parts/fetching.js";
import { toasts } from "../app/parts/toast.js";
import { preferences } from "../app/state/preferences.js";
import { LANGUAGES, t as say } from "../app/words/index.js";
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

test("a language that does not come is said to be missing, and comes when it is chosen again", async (t) => {
  const choose = async (language) => {
    preferences.value = { ...preferences.peek(), language };
    await rest();
  };
  t.after(() => choose(null));
  const { load } = LANGUAGES.es;
  LANGUAGES.es.load = () => Promise.reject(new TypeError("Failed to fetch dynamically imported module"));
  await choose("es");
  assert.deepEqual([say("retry"), toasts.peek().map(({ text, act }) => [text.slice(0, 39), act.label])], ["Try again", [["This page cannot be read in Español now", "Try again"]]]);
  LANGUAGES.es.load = load;
  await load();
  await choose("en");
  await choose("es");
  assert.equal(say("retry"), "Reintentar");
});

test("whatever is fetched late is fetched so", () => {
  const late = files(".js").filter(({ text }) => /\bimport\(/.test(text.replace(/\/\*\*.*?\*\//gs, "").replace(/typeof import\(/g, "")));
  assert.deepEqual(late.filter(({ text }) => !text.includes("fetchLate(")).map(({ path }) => path), []);
  assert.ok(late.length > 1);
});
