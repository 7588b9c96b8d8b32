// What stands in the field: no words are lost, and those for colleagues never become words to the contact.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import "./page.js";
import { message } from "./made.js";
import { clear, deskOf, lay, letGo, put, putBack, takeUp, turnToContact } from "../app/inbox/desk.js";
import { Problem } from "../app/wire/api.js";

const draft = (id, text = `suggestion ${id}`) => ({ id, text });
const stands = () => {
  const { text, isNote, draft } = deskOf("c").peek();
  return [text, isNote ? "note" : draft ? `draft ${draft.id}` : "text"];
};

beforeEach(() => {
  clear("c");
  lay("c", { isNote: false });
});

test("a suggestion that is taken up stands below what was typed", () => {
  takeUp("c", draft(1));
  assert.deepEqual(stands(), ["suggestion 1", "draft 1"]);
  clear("c");
  lay("c", { text: "Dear Mei,\n", quoted: message(1, "contact") });
  takeUp("c", draft(1));
  assert.deepEqual(stands(), ["Dear Mei,\nsuggestion 1", "draft 1"]);
  assert.equal(deskOf("c").peek().quoted, null);
});

test("one that nobody has changed makes room for another; one that was changed stays", () => {
  takeUp("c", draft(1));
  takeUp("c", draft(2));
  assert.deepEqual(stands(), ["suggestion 2", "draft 2"]);
  lay("c", { text: "my own words" });
  takeUp("c", draft(2));
  assert.deepEqual(stands(), ["my own words", "draft 2"]);
  takeUp("c", draft(3));
  assert.deepEqual(stands(), ["my own words\nsuggestion 3", "draft 3"]);
});

test("a note stays a note, whatever is taken up, answered or let go of beside it", () => {
  lay("c", { text: "he is angry", isNote: true });
  assert.equal(takeUp("c", draft(1)), false);
  assert.equal(turnToContact("c", { quoted: message(1, "contact") }), false);
  assert.equal(letGo(deskOf("c").peek()), null);
  assert.deepEqual(stands(), ["he is angry", "note"]);
  put("c", { text: "a refused message", isNote: false });
  assert.deepEqual(stands(), ["he is angry\na refused message", "note"]);
});

test("a field for a note that is empty turns to the contact", () => {
  lay("c", { isNote: true });
  assert.deepEqual(letGo(deskOf("c").peek()), { isNote: false });
  assert.equal(turnToContact("c"), true);
  assert.deepEqual(stands(), ["", "text"]);
});

test("who leaves the field lets go of one thing at a time, and never of what is not seen", () => {
  const desk = { text: "yes", isNote: false, quoted: message(1, "contact"), draft: null, file: new File(["x"], "a.txt") };
  assert.deepEqual(letGo(desk), { quoted: null });
  assert.deepEqual(letGo({ ...desk, quoted: null }), { file: null });
  assert.equal(letGo({ ...desk, quoted: null, file: null }), null);
  assert.deepEqual(letGo({ ...desk, text: "", isNote: true }), { isNote: false });
});

test("what is put back takes nothing of what stands there", () => {
  const file = new File(["x"], "a.txt");
  lay("c", { text: "first", file });
  put("c", { text: "second", file: null, quoted: null, isNote: false });
  assert.deepEqual([...stands(), deskOf("c").peek().file], ["first\nsecond", "text", file]);
});

test("a suggestion that somebody else has sent is none any more where its words are put back", () => {
  const owed = (code, status) => ({ kind: "draft", text: "my own words", quoted: null, draft: draft(1), file: null, problem: new Problem({ code, status }) });
  putBack("c", owed("stale", 409));
  assert.deepEqual(stands(), ["my own words", "draft 1"]);
  for (const [code, status] of [["already_sent", 409], ["not_found", 404]]) {
    clear("c");
    putBack("c", owed(code, status));
    assert.deepEqual(stands(), ["my own words", "text"]);
  }
});
