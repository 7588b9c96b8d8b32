import assert from "node:assert/strict";
import { test } from "node:test";
import { files, line, markup } from "./sources.js";

test("what people wrote runs in the direction of its own language, in the thread, in quotes and in the list", () => {
  const written = /<\w+ [^<>]*class="(?:says|row-preview)\b[^<>]*>|class="quote">\s*<span[^<>]*>/g;
  const found = files(".js").flatMap(({ path, text }) => markup(text).flatMap((one) =>
    [...one.text.matchAll(written)].map(([tag]) => ({ at: `${path}:${line(text, one.at)}`, isFree: tag.includes('dir="auto"') }))));
  assert.ok(found.length > 5);
  assert.deepEqual(found.filter(({ isFree }) => !isFree).map(({ at }) => at), []);
});

test("a contact's name runs in the direction of its own language, wherever it stands alone", () => {
  const named = files(".js").flatMap(({ path, text }) => [...text.matchAll(/<\w+[^<>]*>(?=\$\{contactName\(it\)\}<)/g)].map(([tag]) => `${path} ${tag}`));
  assert.ok(named.length >= 3);
  assert.deepEqual(named.filter((one) => !one.includes('dir="auto"')), []);
});
