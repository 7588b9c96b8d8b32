// The reader of streams puts frames together, however the text was cut on its way.

import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { reader } from "../app/wire/stream.js";

const FRAMES = [
  { id: "0199-1", type: "message_received", data: { text: "two\n\nlines: and “quotes”", n: 1 } },
  { id: "", type: "generation", data: { turn_id: "7", text: "привет 👋🏽 data: id: \\n" } },
  { id: "0199-2", type: "message", data: [1, [2], null] },
];
const TEXT = [
  ": comment\n\n",
  `id: 0199-1\nevent: message_received\ndata: ${JSON.stringify(FRAMES[0].data)}\n\n`,
  ":\n\n",
  `event: generation\ndata: ${JSON.stringify(FRAMES[1].data)}\n\n`,
  `id:0199-2\ndata:${JSON.stringify(FRAMES[2].data)}\n\n`,
  "retry: 1000\n\n",
].join("");

/** @param {string[]} pieces */
function read(pieces) {
  const frames = [];
  const take = reader((frame) => frames.push(frame));
  pieces.forEach(take);
  return frames;
}

test("frames come out whole when the text comes whole", () => {
  assert.deepEqual(read([TEXT]), FRAMES);
});

test("frames come out whole when the text is cut in two, at any place", () => {
  for (let at = 0; at <= TEXT.length; at += 1) assert.deepEqual(read([TEXT.slice(0, at), TEXT.slice(at)]), FRAMES, `cut at ${at}`);
});

test("frames come out whole when the text comes letter by letter, and in pieces of every size", () => {
  for (let size = 1; size <= 40; size += 1) {
    const pieces = [];
    for (let at = 0; at < TEXT.length; at += size) pieces.push(TEXT.slice(at, at + size));
    assert.deepEqual(read(pieces), FRAMES, `pieces of ${size}`);
  }
});

test("what has no end yet does not come out", () => {
  assert.deepEqual(read([TEXT, "id: 0199-3\ndata: {}"]), FRAMES);
  assert.deepEqual(read([TEXT, "id: 0199-3\ndata: {}\n"]), FRAMES);
  assert.deepEqual(read([TEXT, "id: 0199-3\ndata: {}\n", "\n"]).length, FRAMES.length + 1);
});
