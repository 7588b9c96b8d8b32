// Baton leaves out the comments that have lines of their own when it sends a file (`bare` in src/http/dashboard.rs does as
// the function here). That this changes nothing else, a parser says: both read the same.

import assert from "node:assert/strict";
import { test } from "node:test";
import { transformSync } from "esbuild";
import { files } from "./sources.js";

/** @param {string} text */
function bare(text) {
  let isInside = false;
  return text.split(/(?<=\n)/).filter((line) => {
    const begun = isInside || line.trimStart().startsWith("/*");
    const ends = line.trimEnd().endsWith("*/");
    const isComment = begun && (ends || !line.includes("*/"));
    isInside = isComment && !ends;
    return !isComment && !line.trimStart().startsWith("//");
  }).join("");
}

/** @param {string} text */
const read = (text) => transformSync(text, { minify: true, format: "esm" }).code;

test("a file without its comments reads as it did", () => {
  let left = 0;
  for (const { path, text } of files(".js")) {
    assert.equal(read(bare(text)), read(text), path);
    left += text.length - bare(text).length;
  }
  assert.ok(left > 10_000, "there is something to leave out");
});
