// What a page asks again and again, where the server answers more slowly than things happen.

import assert from "node:assert/strict";
import { test } from "node:test";
import { later, rest } from "./page.js";
import { oneByOne } from "../app/parts/asked.js";

test("what is under way is never cut off by what happens meanwhile, and all of that is asked for once, as it is then", async () => {
  const line = oneByOne();
  const [asked, over] = [[], []];
  const slow = ["a", "b", "c"].map(later);
  let nth = 0;
  const ask = (what, words) => line(what, () => (asked.push(words), slow[nth++].answer)).then(() => over.push(words));
  void ask("again", "first");
  for (const words of ["second", "third", "fourth"]) void ask("again", words);
  void ask("more", "page");
  await rest();
  assert.deepEqual([asked, over], [["first"], []]);
  slow[0].give();
  await rest();
  assert.deepEqual([asked, over], [["first", "fourth"], ["first"]]);
  slow[1].give();
  await rest();
  assert.deepEqual([asked, over], [["first", "fourth", "page"], ["first", "second", "third", "fourth"]]);
  slow[2].give();
  await rest();
  assert.deepEqual(over.at(-1), "page");
  // And anew.
  await line("again", async () => void asked.push("last"));
  assert.equal(asked.at(-1), "last");
});

test("what failed holds up nobody", async () => {
  const line = oneByOne();
  const slow = later();
  const failed = assert.rejects(line("again", () => slow.answer));
  let times = 0;
  const waits = line("again", async () => void (times += 1));
  slow.fail();
  await Promise.all([failed, waits]);
  assert.equal(times, 1);
});
