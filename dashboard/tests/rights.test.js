// What is offered is what somebody may do. The parts are asked for what they would draw.

import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { drawn, having } from "./drawn.js";
import { conversation } from "./made.js";
import { me } from "../app/state/session.js";
import { agents } from "../app/state/shelf.js";
import { Assignee } from "../app/inbox/assignee.js";
import { Empty } from "../app/inbox/list.js";
import { mayChange } from "../app/pages/settings/canned_replies.js";
import { sections } from "../app/pages/settings/settings.js";

const sits = (role, channels = null) => void (me.value = { id: "ana", email: "ana@shop.test", role, channels });

test("a conversation is given to nobody who does not see its channel, as far as one is told", () => {
  sits("admin");
  agents.items.value = [
    { id: "ana", name: "Ana", channels: null }, { id: "bo", name: "Bo", channels: ["bar"] }, { id: "cy", name: "Cy", channels: ["bar", "shop"] },
    { id: "di", name: "Di", channels: null, disabled: true }, { id: "ed", name: "Ed" },
  ];
  const { items } = having(Assignee({ it: conversation({ id: "c", channel: "shop" }) }), "items");
  assert.deepEqual(items.filter(Boolean).map(({ words }) => words), ["Assign to me", "Cy", "Ed"]);
});

test("whoever may connect no number is not sent to where that is done", () => {
  sits("agent");
  assert.doesNotMatch(drawn(Empty()), /Connect a number/);
  sits("admin", ["shop"]);
  assert.doesNotMatch(drawn(Empty()), /Connect a number/);
  sits("admin");
  assert.match(drawn(Empty()), /Connect a number/);
});

test("the audit is for who may see all channels, tokens and webhooks for admins", () => {
  const open = (...who) => (sits(...who), sections().map(({ id }) => id).filter((id) => ["tokens", "webhooks", "audit", "all"].includes(id)));
  assert.deepEqual(open("admin"), ["tokens", "webhooks", "audit", "all"]);
  assert.deepEqual(open("admin", ["shop"]), ["tokens", "webhooks", "all"]);
  assert.deepEqual(open("agent"), []);
});

test("a canned reply is changed by who wrote it for themselves, and by who sees all that it is for", () => {
  const shared = (channels) => ({ owner: null, channels });
  sits("admin", ["bar", "shop"]);
  assert.deepEqual([["shop"], ["shop", "pub"], null].map((channels) => mayChange(shared(channels))), [true, false, false]);
  sits("admin");
  assert.ok(mayChange(shared(null)));
  sits("agent");
  assert.ok(!mayChange(shared(["shop"])) && mayChange({ owner: "ana", channels: null }));
});
