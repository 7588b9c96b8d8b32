// What a customer wrote is only ever text, and nothing is asked of anybody but Baton. The page's policy forbids the rest too;
// here it is found before anybody has to see it fail.

import assert from "node:assert/strict";
import { test } from "node:test";
import { files, line, markup } from "./sources.js";

/** @param {RegExp} forbidden @param {{path: string, text: string}[]} within */
function nowhere(forbidden, within) {
  const places = within.flatMap(({ path, text }) => [...text.matchAll(forbidden)].map((match) => `${path}:${line(text, match.index)} ${match[0]}`));
  assert.deepEqual(places, []);
}

test("no file makes markup of a text, or code of one", () => {
  nowhere(/innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|createContextualFragment|document\.write|srcdoc|DOMParser/g, files(".js"));
  nowhere(/\beval\s*\(|\bnew Function\b|javascript:|setTimeout\(\s*["'`]/g, files(".js"));
});

test("no markup has a style attribute, which the policy would drop, or a handler in words", () => {
  nowhere(/\bstyle=["']/g, [...files(".js"), ...files(".html")]);
  nowhere(/\son[a-z]+=["']/g, [...files(".js"), ...files(".html")]);
});

test("no file names another origin", () => {
  // A link that opens beside the page asks nothing until a person follows it.
  const asking = [...files(".js"), ...files(".css"), ...files(".html")].map(({ path, text }) => ({ path, text: text.replaceAll(/href="https:[^"]+" target="_blank" rel="noreferrer"/g, "") }));
  nowhere(/["'`(]\s*(https?:)?\/\/[\w[]/g, asking);
});

test("every word that people read comes from words/", () => {
  // The name of the thing is the same in every language, and what stands in code and key signs is for machines.
  const named = /\bBaton\b/g;
  const places = files(".js").flatMap(({ path, text }) =>
    markup(text).flatMap((it) => {
      const attributes = [...it.text.matchAll(/\b(?:title|alt|placeholder|aria-label|aria-description|aria-valuetext)="([^"\0]*)/g)].map(([, words]) => words);
      const inside = it.text
        .replace(/<(code|kbd)\b[^>]*>[^]*?<\/\1>/g, "")
        // An arrow function in an attribute would look like the end of its tag, but what is filled in is gone by now.
        .replace(/<!--[^]*?-->|<[^>]*>/g, "\0");
      const words = [...attributes, ...inside.split("\0")].map((words) => words.replace(named, "").trim()).filter((words) => /\p{L}{2,}/u.test(words));
      return words.map((words) => `${path}:${line(text, it.at)} ${words}`);
    }));
  assert.deepEqual(places, []);
});

test("the reader of sources finds what it is for", () => {
  const source = 'const a = /["`]/; /* ` */ f(html`<p title="Hi">one ${b ? html`<b>${`x`} two</b>` : "`"} three</p>`);';
  assert.deepEqual(markup(source).map(({ text }) => text), ["<b>\0 two</b>", '<p title="Hi">one \0 three</p>']);
});
