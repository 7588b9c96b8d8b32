// What the server refuses, in the words of who reads.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync, readdirSync } from "node:fs";
import { rest } from "./page.js";
import { preferences } from "../app/state/preferences.js";
import { problemText } from "../app/parts/toast.js";
import { Problem } from "../app/wire/api.js";
import { en } from "./english.js";
import { LANGUAGES } from "../app/words/index.js";

const said = (status, code, detail) => problemText(new Problem({ status, code, title: "Things stand otherwise", detail }));

test("a refusal is said in the language of who reads; in English as precisely as the server says it", async (t) => {
  const refused = () => said(409, "not_retryable", "a person has taken over");
  assert.equal(refused(), "a person has taken over");
  t.after(() => void (preferences.value = { ...preferences.peek(), language: null }));
  preferences.value = { ...preferences.peek(), language: "es" };
  await LANGUAGES.es.load();
  await rest();
  assert.match(refused(), /^Tal como están las cosas/);
  // One that is newer than this page has no other words.
  assert.equal(said(409, "in_orbit", "it is in orbit"), "it is in orbit");
});

test("what the server says to programs is said to nobody else", () => {
  assert.equal(said(401, "unauthorized", "sign in, or show a valid token: `Authorization: Bearer TOKEN`"), "Your session has ended. Sign in again.");
  assert.equal(said(404, "not_found", "there is nothing here"), "It is not there any more, or not for you.");
  assert.equal(said(503, "unavailable", "the database is unavailable"), "Baton cannot do that right now. Try again in a moment.");
});

/** Said by the part that asked, in words of its own. */
const SAID_THERE = ["last_admin", "host_not_allowed"];

test("every conflict that the server knows has words", () => {
  const server = new URL("../../src/", import.meta.url);
  const sources = readdirSync(server, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".rs") && !path.includes("tests"));
  const text = sources.map((path) => readFileSync(new URL(path.replaceAll("\\", "/"), server), "utf8")).join("\n");
  const codes = [...new Set([...text.matchAll(/\bconflict\(\s*"(\w+)"/g)].map(([, code]) => code))];
  assert.ok(codes.length > 10, `${codes}`);
  assert.deepEqual(codes.filter((code) => !(`problem.${code}` in en) && !SAID_THERE.includes(code)), []);
});

test("a follow-up that may not be is refused in words for people, in English too", () => {
  assert.match(said(409, "follow_up_not_allowed", "in HUMAN, closed, opted out, or while a message waits for its answer"), /^Not possible now: a person answers/);
});
