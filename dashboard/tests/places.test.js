// Where the pages lead: each address is one that the server shows the page at, and whatever stands there is taken as it is.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { happens } from "./page.js";
import { files } from "./sources.js";
import { places } from "../app/places.js";
import { inboxAt } from "../app/state/filter.js";
import { route } from "../app/state/route.js";
import { me } from "../app/state/session.js";
import { choose } from "../app/playground/contacts.js";

const server = readFileSync(new URL("../../src/http/dashboard.rs", import.meta.url), "utf8");
const paths = [...server.match(/ PATHS: [^=]*= \[([^\]]*)\]/)[1].matchAll(/"([^"]+)"/g)].map(([, path]) => path);
const isServed = (path) => paths.some((one) => new RegExp(`^${one.replace(/\{\w+\}/g, "[^/]+")}$`).test(path.replace(/\?.*/, "")));
/** A page of the server's own, for who writes programs; and those whose name is filled in. */
const OTHERS = ["/docs", "/x"];

test("each address that a page leads to is served: it may be loaded again, kept, and come back to", () => {
  const led = files(".js").flatMap(({ path, text }) =>
    [...text.matchAll(/(?:\bgo\(|\bhref(?:=|: ))[^;\n>]*?["`](\/[^"`]*)["`]/g)].map(([, to]) => [path, to.replace(/\$\{[^}]*\}/g, "x")]));
  assert.ok(led.length > 20, `${led}`);
  assert.deepEqual(led.filter(([, to]) => !isServed(to) && !OTHERS.includes(to)), []);
  const pages = places().map(({ href }) => href);
  assert.ok(pages.includes("/overview"));
  assert.deepEqual(pages.filter((page) => !isServed(page)), []);
  choose("6582865299@c.us");
  for (const to of [location.pathname, inboxAt({}), inboxAt({ group: "mine" }, "0199"), "/dead-letters?kind=send", "/overview?range=week"]) assert.ok(isServed(to), to);
});

test("the playground is a place of whoever sees its channel", () => {
  const isThere = (channels) => {
    me.value = { channels };
    return places().some(({ page }) => page === "playground");
  };
  assert.deepEqual([isThere(null), isThere(["shop", "sandbox"]), isThere(["shop"])], [true, true, false]);
  me.value = null;
});

test("an address that was cut off in the middle of a letter is read as far as it goes", () => {
  const at = (path) => {
    location.href = new URL(path, location).href;
    happens.popstate();
    return route.peek().id;
  };
  assert.deepEqual([at("/playground/658%40c.us"), at("/inbox/%zz"), at("/inbox/%d0")], ["658@c.us", "%zz", "%d0"]);
});
