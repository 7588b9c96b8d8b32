// What is fetched before the inbox can be seen, and what only with the pages beside it. The rule is `link` of src/http/dashboard.rs.

import assert from "node:assert/strict";
import { posix } from "node:path";
import { test } from "node:test";
import "./page.js";
import { en } from "../app/words/en.js";
import { pages } from "../app/words/en/pages.js";
import { fetchPageWords, word } from "../app/words/index.js";
import { files } from "./sources.js";

const sources = new Map(files(".js").map(({ path, text }) => [path, text]));
const isLate = (path) => /^(pages|playground)\/|^words\/(en\/pages|(?!en)\w\w\.js$)/.test(path) && !["pages/index.js", "pages/sign_in.js"].includes(path);

/** All that a module imports before it runs, and itself. */
function needed(path, all = new Set()) {
  if (!sources.has(path) || all.has(path)) return all;
  all.add(path);
  for (const [, to] of sources.get(path).matchAll(/^(?:import|export) [^;]*?"(\.[^"]+)";/gm)) needed(posix.join(posix.dirname(path), to), all);
  return all;
}

test("what is fetched at first is what the first page imports: nothing that it does not need, and nothing of the pages", () => {
  assert.deepEqual([...needed("main.js")].sort(), [...sources.keys()].filter((path) => !isLate(path)));
});

test("what is there at first asks for no words of the pages, and what the inbox fetches late for none either", () => {
  // A value that a canned reply may name, and a picture's rows, which have words of their own in the same group.
  const others = ["channel.title", "lane"];
  const groups = new Set(Object.keys(pages).filter((key) => key.includes(".")).map((key) => key.slice(0, key.lastIndexOf("."))));
  const wrong = [...needed("main.js"), ...needed("pages/erase.js")].flatMap((path) => {
    const text = sources.get(path);
    const keys = [...text.matchAll(/\bt\(\s*"([^"]+)"|"([\w-]+\.[\w.-]+)"/g)].map(([, asked, dotted]) => asked ?? dotted).filter((key) => key in pages);
    const begun = [...text.matchAll(/\bword\(\s*"([^"]+)"|`([\w.]+)\.\$\{/g)].map(([, group, template]) => group ?? template).filter((group) => groups.has(group));
    return [...keys, ...begun].filter((one) => !others.includes(one)).map((one) => `${path} ${one}`);
  });
  assert.deepEqual(wrong, []);
  assert.deepEqual(Object.keys(pages).filter((key) => key in en), []);
});

test("a page is shown when its words are there, too", async () => {
  const said = () => [word("role", "admin"), word("nav", "inbox")];
  assert.deepEqual(said(), ["admin", "Inbox"], "the value as the API has it, until then");
  await fetchPageWords();
  assert.deepEqual(said(), ["Admin", "Inbox"]);
  assert.match(sources.get("pages/index.js"), /Promise\.all\(\[FETCH\[name\]\(\), fetchPageWords\(\)/);
});
