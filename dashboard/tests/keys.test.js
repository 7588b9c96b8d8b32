import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { files, line } from "./sources.js";
import { isComposing } from "../app/parts/keys.js";

test("the Enter that ends a composition is no Enter, also where the composition has ended by then", () => {
  const pressed = (given) => isComposing({ key: "Enter", keyCode: 13, isComposing: false, ...given });
  assert.equal(pressed({ isComposing: true, keyCode: 229 }), true);
  assert.equal(pressed({ keyCode: 229 }), true, "Safari");
  assert.equal(pressed({}), false);
});

test("every part that answers Enter or Escape in a field asks so, and in one way", () => {
  const found = files(".js").filter(({ path }) => path !== "parts/keys.js");
  const alone = found.flatMap(({ path, text }) => [...text.matchAll(/event\.isComposing|keyCode/g)].map(({ index }) => `${path}:${line(text, index)}`));
  assert.deepEqual(alone, []);
  const deaf = found.filter(({ text }) => /<(input|textarea)\b/.test(text) && /event\.key [!=]== "(Enter|Escape)"/.test(text) && !text.includes("isComposing(event)")).map(({ path }) => path);
  assert.deepEqual(deaf, []);
});
