import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { files, line } from "./sources.js";
import { preferences } from "../app/state/preferences.js";
import { closes, isComposing, nameOf } from "../app/parts/keys.js";

test("the Enter that ends a composition is no Enter, also where the composition has ended by then", () => {
  const pressed = (given) => isComposing({ key: "Enter", keyCode: 13, isComposing: false, ...given });
  assert.equal(pressed({ isComposing: true, keyCode: 229 }), true);
  assert.equal(pressed({ keyCode: 229 }), true, "Safari");
  assert.equal(pressed({}), false);
});

test("the Escape that closes a dialog or a menu closes nothing that it lies over, nor does one that is done with", (t) => {
  t.after(() => delete globalThis.Element);
  globalThis.Element = class {
    constructor(over) { this.over = over; }
    closest(wanted) { return wanted.includes(this.over) ? this : null; }
  };
  const pressed = (over, given) => closes({ key: "Escape", keyCode: 27, isComposing: false, defaultPrevented: false, target: new Element(over), ...given });
  assert.equal(pressed("textarea"), true);
  for (const over of ["dialog", "[popover]"]) assert.equal(pressed(over), false, over);
  for (const given of [{ key: "Enter" }, { defaultPrevented: true }, { isComposing: true }]) assert.equal(pressed("textarea", given), false);
});

test("a key is what it is marked with, in whatever letters one writes, with Caps Lock too", () => {
  const pressed = (key, code, given) => nameOf({ key, code, shiftKey: false, metaKey: false, ctrlKey: false, ...given });
  for (const key of ["t", "T", "е", "Е", "א", "τ", "ف"]) assert.equal(pressed(key, "KeyT"), "t", key);
  for (const key of ["R", "r", "К"]) assert.equal(pressed(key, "KeyR", { shiftKey: true }), "R", key);
  assert.equal(pressed("л", "KeyK", { ctrlKey: true }), "mod+k");
  assert.equal(pressed("K", "KeyK", { metaKey: true, shiftKey: true }), "mod+k");
  // Where Latin letters lie elsewhere, it is they that count; and signs are what they are.
  assert.equal(pressed("k", "KeyT"), "k");
  assert.equal(pressed("?", "Digit7", { shiftKey: true }), "?");
  assert.equal(pressed("Enter", "Enter"), "Enter");
  assert.equal(pressed("ö", "Semicolon"), "ö");
  assert.equal(nameOf({}), "");
});

test("a key that is held is pressed once, but for those that go through a list", async (t) => {
  t.after(() => delete globalThis.HTMLElement);
  globalThis.HTMLElement = class {};
  let press;
  t.mock.method(document, "addEventListener", (_name, run) => void (press = run));
  // One of its own, that is heard.
  const { bindings } = await import("../app/parts/keys.js?held");
  const ran = [];
  bindings.value = [{ key: "t", words: "", run: () => ran.push("t") }, { key: "j", words: "", repeats: true, run: () => ran.push("j") }];
  let kept = 0;
  for (const key of ["t", "j"]) for (const repeat of [false, true, true]) press({ key, repeat, preventDefault: () => (kept += 1) });
  assert.deepEqual([ran, kept], [["t", "j", "j", "j"], 6]);
});

test("with the keys switched off, none that writes something is answered", async (t) => {
  t.after(() => {
    delete globalThis.HTMLElement;
    delete globalThis.Element;
    preferences.value = { ...preferences.peek(), keys: true };
  });
  globalThis.HTMLElement = globalThis.Element = class {};
  let press;
  t.mock.method(document, "addEventListener", (_name, run) => void (press = run));
  const { bindings } = await import("../app/parts/keys.js?off");
  const ran = [];
  bindings.value = ["t", "?", "R", "Enter", "mod+k"].map((key) => ({ key, words: "", run: () => ran.push(key) }));
  const all = () => {
    for (const key of ["t", "?", "R", "Enter"]) press({ key, shiftKey: key === "R", preventDefault: () => {} });
    press({ key: "k", ctrlKey: true, preventDefault: () => {} });
    return ran.splice(0);
  };
  assert.deepEqual(all(), ["t", "?", "R", "Enter", "mod+k"]);
  preferences.value = { ...preferences.peek(), keys: false };
  assert.deepEqual(all(), ["Enter", "mod+k"]);
});

test("every part that answers Enter or Escape in a field asks so, and in one way", () => {
  const found = files(".js").filter(({ path }) => path !== "parts/keys.js");
  const alone = found.flatMap(({ path, text }) => [...text.matchAll(/event\.isComposing|keyCode/g)].map(({ index }) => `${path}:${line(text, index)}`));
  assert.deepEqual(alone, []);
  const deaf = found.filter(({ text }) => /<(input|textarea)\b/.test(text) && /event\.key [!=]== "(Enter|Escape)"/.test(text) && !text.includes("isComposing(event)")).map(({ path }) => path);
  assert.deepEqual(deaf, []);
});

test("the help names every key of an open conversation, also while none is open", () => {
  const of = (path) => files(".js").find((file) => file.path === path).text;
  const answered = ["inbox/inbox.js", "inbox/mode.js"].flatMap((path) => [...of(path).matchAll(/\{ key: "(\w)", words: t\("([\w.]+)"\)/g)].map(([, key, words]) => `${key} ${words}`));
  const named = [...of("inbox/help.js").matchAll(/\["(\w)", "([\w.]+)"\]/g)].map(([, key, words]) => `${key} ${words}`);
  assert.ok(answered.includes("t keys.take"));
  assert.deepEqual(named.sort(), answered.sort());
});
