// What the tables of the settings say, page for page the same.

import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { files } from "./sources.js";
import { channelWords } from "../app/pages/settings/channels_field.js";
import { channels } from "../app/state/shelf.js";
import { fetchPageWords } from "../app/words/index.js";

await fetchPageWords();

test("channels are called by their titles", (t) => {
  const before = channels.items.value;
  t.after(() => (channels.items.value = before));
  channels.items.value = [{ name: "sg1", title: "Shop Singapore" }, { name: "old", title: null }];
  assert.equal(channelWords(["sg1", "old", "gone"]), "Shop Singapore, old, gone");
  assert.equal(channelWords(null), "All channels");
});

test("no page writes channels out by itself", () => {
  const pages = files(".js").filter(({ path }) => path.startsWith("pages/"));
  assert.deepEqual(pages.filter(({ text }) => /channels\??\.(join|map\(channelTitle)/.test(text)).map(({ path }) => path), []);
  assert.equal(pages.filter(({ text }) => /channelWords\(\w+\.channels\)/.test(text)).length, 5);
});
