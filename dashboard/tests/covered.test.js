// What is seen of a page that a keyboard lies over.

import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { seen } from "../app/parts/covered.js";

test("the shell stands where one sees, and nowhere else than ever where nothing is covered", () => {
  const whole = { isCovered: false, height: "100dvh", from: "0px" };
  const told = (height, offsetTop, scale = 1) => seen({ height, offsetTop, scale }, 800);
  assert.deepEqual(told(800, 0), whole);
  assert.deepEqual(told(450, 0), { isCovered: true, height: "450px", from: "0px" });
  assert.deepEqual(told(450.5, 310), { isCovered: true, height: "450.5px", from: "310px" });
  assert.deepEqual(told(800, 310), whole, "the keyboard is gone, and how far the page was moved is still said");
  assert.deepEqual(told(799.6, 0), whole, "heights are told with parts of a pixel, or without");
  assert.deepEqual(told(400, 120, 2), whole, "magnified");
});
