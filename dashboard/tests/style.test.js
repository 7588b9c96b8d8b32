// What people would miss if a line of the style sheets went away, and no other test would see.

import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { having } from "./drawn.js";
import { files, rules } from "./sources.js";
import { columns } from "../app/pages/settings/webhooks.js";
import { Table } from "../app/pages/listing.js";
import { fetchPageWords } from "../app/words/index.js";

await fetchPageWords();
// In the order of the page: `FIRST_SHEETS` of src/http/dashboard.rs, then by name.
const first = ["style/tokens.css", "style/base.css"];
const sheets = files(".css").sort((a, b) => (first.indexOf(a.path) + 1 || 9) - (first.indexOf(b.path) + 1 || 9));
const all = sheets.flatMap(({ text }) => rules(text));

/** What the last of the rules for that selector says, all of which weigh the same. @param {string[]} selectors */
const says = (selectors, name, media = "") =>
  all.findLast((it) => selectors.includes(it.selector) && it.media === media && name in it.declared)?.declared[name] ?? null;

test("the reader of sheets finds what it is for", () => {
  const sheet = "/* a { b: c } */ p, .x:is(a, b) { color: red; background: url(data:a;b) }\n@media (max-width: 1px) { p { color: blue; } }\nq { margin: 0 }";
  assert.deepEqual(rules(sheet), [
    { media: "", selector: "p", declared: { color: "red", background: "url(data:a;b)" } },
    { media: "", selector: ".x:is(a, b)", declared: { color: "red", background: "url(data:a;b)" } },
    { media: "@media (max-width: 1px)", selector: "p", declared: { color: "blue" } },
    { media: "", selector: "q", declared: { margin: "0" } },
  ]);
  assert.ok(all.length > 500);
});

test("each line of a message has a direction of its own", () => {
  assert.equal(says([".says"], "unicode-bidi"), "plaintext");
});

test("where the browser takes all grounds away, what is chosen has a frame, and who answers its colours", () => {
  const forced = all.filter(({ media }) => media === "@media (forced-colors: active)");
  const of = (name, value) => forced.filter(({ declared }) => declared[name] === value).map(({ selector }) => selector).join();
  for (const one of [".rail a[aria-current]", ".row.is-open", '.groups > button[aria-selected="true"]']) assert.ok(of("outline", "2px solid Highlight").includes(one), one);
  assert.match(of("forced-color-adjust", "none"), /\.mode-bar/);
});

test("a pull at the top of a page does not load it again", () => {
  assert.equal(says(["html"], "overscroll-behavior"), "none");
});

test("a search offers its key only where there are keys", () => {
  assert.equal(says([".search > kbd"], "display", "@media (pointer: coarse)"), "none");
});

test("the count of who waits stands at the corner of the icon, at any width", () => {
  assert.equal(says([".rail .badge"], "left"), "calc(50% + 6px)");
  assert.equal(says([".rail .badge"], "right"), null);
});

test("who answers is read whole, at any width: what does not fit beside it goes below", () => {
  assert.equal(says([".mode-line"], "flex-wrap"), "wrap");
});

test("what stands below the field where one writes lies over nothing, however long its words", () => {
  assert.equal(says([".composer-tools"], "flex-wrap"), "wrap");
  assert.equal(says([".composer-tools"], "justify-content"), "flex-end", "and the button that sends stays at its end");
});

test("on a phone, a card of a table leaves out what is empty, with its head", () => {
  const at = (selector) => all.findIndex((it) => it.selector === selector && it.media === "@media (max-width: 720px)");
  const [shown, hidden] = [at(".cards td[data-head]:not(.is-actions)"), at(".cards td[data-head]:not(.is-actions):empty")];
  assert.ok(shown >= 0 && hidden > shown, "it weighs more than what lays the cell out");
  assert.equal(all[hidden].declared.display, "none");
});

test("in the table of webhooks names of events are not broken, and its buttons may take a second line", () => {
  const of = Object.fromEntries(columns().map((column) => [column.words, column]));
  const table = (column, item) => Table({ label: "", columns: [column], items: [item], id: () => "a" });
  const cell = having(table(of.Events, { events: ["message_received", "mode_changed"] }), "data-head");
  assert.match(cell.class, /\bis-whole\b/);
  assert.equal(says([".rows td"], "overflow-wrap"), "anywhere");
  assert.equal(says([".rows .is-whole", ".rows .is-actions"], "overflow-wrap"), "normal");
  assert.equal(says([".rows .is-whole", ".rows .is-actions"], "white-space"), "normal");
  assert.equal(says([".rows .is-whole", ".rows .is-actions"], "width"), "auto");
});

test("in the table of webhooks an address is broken before a slash", () => {
  const at = JSON.stringify(columns()[0].cell({ url: "https://shop.example/hooks/baton", description: null, events: [] }));
  assert.match(at, /shop\.example.*wbr.*\/hooks.*wbr.*\/baton/);
});
