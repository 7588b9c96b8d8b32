// Every word there is, is used; every word that is used, is there; and each language says all of it.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { en } from "./english.js";
import { files } from "./sources.js";

const FOLDER = new URL("../app/words/", import.meta.url);
const others = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".js") && !["index.js", "en.js"].includes(name))
  .map((name) => name.replace(".js", ""));
const languages = new Map(await Promise.all(others.map(async (tag) => [tag, (await import(new URL(`${tag}.js`, FOLDER)))[tag]])));

const code = files(".js").filter(({ path }) => !path.startsWith("words/") || path === "words/index.js");

/** All that is written in quotes, anywhere. */
const quoted = new Set(code.flatMap(({ text }) => [...text.matchAll(/"([^"\n]*)"/g)].map(([, words]) => words)));
/** Beginnings of keys whose ends are filled in. */
const begun = code.flatMap(({ text }) => [...text.matchAll(/`(\w+\.[\w.-]*)\$\{/g)].map(([, words]) => words));

/** The forms of a word: one, or one for each kind of number. */
const forms = (words) => (typeof words === "string" ? { other: words } : words);
const holes = (text) => [...new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))].sort();

test("every key that is asked for exists", () => {
  const missing = code.flatMap(({ path, text }) =>
    [...text.matchAll(/\bt\(\s*"([^"]+)"/g)].map(([, key]) => key).filter((key) => !(key in en)).map((key) => `${path} ${key}`));
  assert.deepEqual(missing, []);
});

test("every key that exists is asked for", () => {
  const unused = Object.keys(en).filter((key) => {
    const group = key.slice(0, key.lastIndexOf("."));
    return !quoted.has(key) && !(group && quoted.has(group)) && !begun.some((beginning) => key.startsWith(beginning));
  });
  assert.deepEqual(unused, []);
});

test("no key is said twice, where the later would silence the earlier", () => {
  const seen = new Map();
  const twice = files(".js").filter(({ path }) => path.startsWith("words/en/")).flatMap(({ path, text }) =>
    [...text.matchAll(/^ {2}"([^"]+)":/gm)].flatMap(([, key]) => {
      const before = seen.get(key);
      seen.set(key, path);
      return before ? [`${key} in ${before} and ${path}`] : [];
    }));
  assert.deepEqual(twice, []);
});

test("every language can be chosen", () => {
  const index = code.find(({ path }) => path === "words/index.js").text;
  for (const tag of languages.keys()) assert.match(index, new RegExp(`\\b${tag}: \\{ name: "[^"]+"`), tag);
});

for (const [tag, words] of [["en", en], ...languages]) {
  test(`${tag} says all that English says, and nothing else`, () => {
    assert.deepEqual(Object.keys(en).filter((key) => !(key in words)), [], "missing");
    assert.deepEqual(Object.keys(words).filter((key) => !(key in en)), [], "unknown");
    assert.deepEqual(Object.keys(words).filter((key) => Object.values(forms(words[key])).some((text) => text.trim() === "")), [], "empty");
  });

  test(`${tag} fills in the same`, () => {
    const wrong = Object.keys(en).filter((key) => key in words).filter((key) => {
      const wanted = holes(Object.values(forms(en[key])).join(" "));
      const isCounted = typeof en[key] !== "string";
      // A form for one alone may say it in words; all others must name the number.
      return Object.entries(forms(words[key])).some(([form, text]) => {
        const free = isCounted && form === "one" ? wanted.filter((name) => name !== "count") : wanted;
        return free.some((name) => !holes(text).includes(name)) || holes(text).some((name) => !wanted.includes(name));
      });
    });
    assert.deepEqual(wrong, []);
  });

  test(`${tag} has a form for every number`, () => {
    const rules = new Intl.PluralRules(tag);
    const wanted = [...new Set(Array.from({ length: 1_001 }, (_, number) => rules.select(number)))].sort();
    const known = rules.resolvedOptions().pluralCategories;
    const wrong = Object.keys(en).filter((key) => typeof en[key] !== "string").filter((key) => {
      if (typeof words[key] !== "object") return true;
      const given = Object.keys(words[key]);
      return wanted.some((form) => !given.includes(form)) || given.some((form) => !known.includes(form));
    });
    assert.deepEqual(wrong, []);
  });
}
