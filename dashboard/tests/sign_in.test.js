// The page that a sign-in link opens.

import assert from "node:assert/strict";
import { test } from "node:test";
import { happens } from "./page.js";
import { go } from "../app/state/route.js";
import { eachLink } from "../app/pages/sign_in.js";

test("a second link in the tab of the first is followed too, and neither stays in the address", (t) => {
  const followed = [];
  go("/sign-in#first");
  t.after(eachLink((secret) => followed.push(secret)));
  assert.deepEqual([followed, location.href], [["first"], "http://baton.test/sign-in"]);
  // Only the end of the address changes: the browser loads nothing, and says just this.
  globalThis.location = new URL("/sign-in#second", location);
  happens.hashchange();
  assert.deepEqual([followed, location.href], [["first", "second"], "http://baton.test/sign-in"]);
});

test("what follows # elsewhere is no link, and nobody listens once the page is left", () => {
  const followed = [];
  go("/inbox#page");
  const end = eachLink((secret) => followed.push(secret));
  happens.hashchange();
  end();
  assert.deepEqual([followed, location.hash, "hashchange" in happens], [[], "#page", false]);
});
