// What is shown of a file that cannot be: why, as the server says it, and that it can be tried again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, asked, refusal, rest } from "./page.js";
import { drawn, having } from "./drawn.js";
import { message } from "./made.js";
import { Card, Seen, showing } from "../app/inbox/media.js";
import { en } from "./english.js";

const URL = "/api/v1/messages/m1/media";
const media = { mime_type: "image/jpeg", file_name: "cat.jpg", size: null, seconds: null, caption: null, transcript: null, state: "available", url: URL };
const sent = (kind) => message(1, "contact", { kind, media });

/** What stands there after the element that shows it has failed, and where it leads. */
async function after(answer) {
  if (answer) answers.set("GET /messages/m1/media", answer);
  const file = showing(URL);
  await file.fail();
  const card = Card({ it: sent("image"), media, lost: file.lost.value, again: file.again });
  return { file, card, words: drawn(card), link: having(card, "href")?.href };
}

test("a picture, a sound or a film that fails says so", () => {
  for (const kind of ["image", "sticker", "voice", "audio", "video"]) {
    const fail = () => {};
    assert.equal(having(Seen({ it: sent(kind), media, fail }), "onError").onError, fail, kind);
  }
});

test("why a file cannot be had is asked of the server once and told in words", async () => {
  for (const [status, code, words] of [
    [410, "gone", en["media_state.gone"]],
    [413, "too_large", en["media_state.too_large"]],
    [409, "host_not_allowed", en["media_state.host_not_allowed"]],
    [503, "unavailable", en["problem.unavailable"]],
  ]) {
    asked.length = 0;
    const it = await after(refusal(status, code));
    assert.deepEqual(asked.map(({ path, headers }) => [path, headers.range]), [["GET /messages/m1/media", "bytes=0-0"]]);
    assert.ok(it.words.includes("cat.jpg") && it.words.includes(words), it.words);
    assert.equal(it.link, undefined, code);
  }
  const away = await after(() => Promise.reject(new TypeError("no line")));
  assert.ok(away.words.includes(en["problem.unreachable"]), away.words);
});

test("what is there and cannot be shown here can be saved", async () => {
  const it = await after("bytes");
  assert.ok(it.words.includes(en["media.unshown"]), it.words);
  assert.equal(it.link, URL);
});

test("it is shown anew when somebody wants to see it again", async () => {
  const it = await after(refusal(503, "unavailable"));
  assert.ok(it.words.includes(en.retry));
  having(it.card, "onClick").onClick();
  await rest();
  assert.deepEqual([it.file.lost.value, it.file.attempt.value], [null, 1]);
});
