// The scale of a plot reaches as far as its numbers, in few steps that people read at once.

import assert from "node:assert/strict";
import { test } from "node:test";
import { lines, named } from "../app/pages/overview/scale.js";

test("the lines of a scale are few, even, and reach the greatest number", () => {
  for (const kind of ["count", "amount", "time"]) {
    for (const max of [0, 0.003, 0.7, 1, 2, 3, 7, 9.99, 10, 11, 99, 101, 1_000, 4_321, 60_000, 1e6, 8.64e7, 1e9, 123_456_789_012]) {
      const all = lines(max, kind);
      const step = all[1] - all[0];
      assert.ok(all.length >= 2 && all.length <= 5, `${kind} ${max}: ${all.length} lines`);
      assert.ok(all.at(-1) >= max * (1 - 1e-9), `${kind} ${max}: it ends at ${all.at(-1)}`);
      assert.ok(all[0] === 0 && all.every((mark, at) => Math.abs(mark - at * step) < step / 1e6), `${kind} ${max}: even`);
    }
  }
});

test("what is counted has no line between two whole numbers", () => {
  for (let max = 0; max < 200; max += 1) assert.ok(lines(max, "count").every(Number.isInteger), String(max));
});

test("lengths of time end at seconds, minutes and hours that have names", () => {
  assert.deepEqual(lines(41_000, "time"), [0, 15_000, 30_000, 45_000]);
  assert.deepEqual(lines(9 * 60_000, "time"), [0, 5 * 60_000, 10 * 60_000]);
  assert.deepEqual(lines(3_000, "time"), [0, 1_000, 2_000, 3_000]);
});

test("names along a plot do not touch, and the first place has one", () => {
  for (const count of [1, 7, 24, 30, 31]) {
    for (const width of [1, 180, 240, 420, 1_000]) {
      const places = named(count, width, 54);
      assert.equal(places[0], 0);
      if (places.length > 1) assert.ok(((places[1] - places[0]) * width) / count >= 54 * 0.99, `${count} in ${width}`);
    }
  }
});
