// Which conversations are looked at stands in the address, and comes back from it as it was.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FIRST, filterOf, inboxAt } from "../app/state/filter.js";

const ID = "0199d9a0-0000-7000-8000-000000000000";
/** @param {string} address */
const read = (address) => filterOf(new URL(address, "http://baton").searchParams);

test("what is as usual is left out", () => {
  assert.equal(inboxAt(FIRST), "/inbox");
  assert.equal(inboxAt({}, ID), `/inbox/${ID}`);
  assert.equal(inboxAt({ group: "needs_you" }), "/inbox?group=needs_you");
  assert.equal(inboxAt({ status: null }), "/inbox?status=any");
  assert.equal(inboxAt({ q: "a b" }, ID, 7), `/inbox/${ID}?q=a+b&seq=7`);
  assert.equal(inboxAt({}, null, 7), "/inbox", "a message is one of a conversation");
});

test("every filter comes back from its address", () => {
  for (const change of [
    {}, { group: "mine" }, { group: "ai", status: "closed" }, { status: null, unread: true },
    { channel: "shop", label: "VIP & co", assignee: "none", q: "ключ #1" },
  ]) {
    const filter = { ...FIRST, ...change };
    assert.deepEqual(read(inboxAt(filter, ID, 3)), filter);
  }
});

test("what cannot be understood is as usual", () => {
  assert.deepEqual(read("/inbox?group=everything&status=lost&unread=perhaps&channel=&colour=red"), FIRST);
});
