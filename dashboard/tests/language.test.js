import assert from "node:assert/strict";
import { test } from "node:test";
import { choose } from "../app/state/language.js";

const chosen = (wishes) => choose({ chosen: null, installation: "", browser: [], ...wishes }, ["en", "es", "pt", "ru"]);

test("who has chosen a language reads it, whatever was set for everyone", () => {
  assert.equal(chosen({ chosen: "ru", installation: "es", browser: ["pt-BR"] }), "ru");
});

test("who has chosen none reads that of the installation, and the browser is not asked", () => {
  assert.equal(chosen({ installation: "es", browser: ["ru", "en-GB"] }), "es");
});

test("where none was set, the browser's first that there are words in", () => {
  assert.equal(chosen({ browser: ["de-CH", "pt-BR", "es"] }), "pt");
  assert.equal(chosen({ browser: ["de-CH"] }), "en");
  assert.equal(chosen({}), "en");
});

test("one that there are no words in is English", () => {
  assert.equal(chosen({ chosen: "tlh", browser: ["es"] }), "en");
  assert.equal(chosen({ installation: "tlh", browser: ["es"] }), "en");
});
