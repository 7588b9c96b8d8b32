// The conversation that is opened, against a server that the test plays.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { answers, line, pass, refusal, rest } from "./page.js";
import { conversation } from "./made.js";
import { current, opened, show } from "../app/inbox/opened.js";
import { begin, conversation as known, list } from "../app/state/conversations.js";
import { open as openFeed } from "../app/state/feed.js";
import { begin as followMyself } from "../app/state/myself.js";
import { me } from "../app/state/session.js";

const MEI = "GET /conversations/mei";
const LIST = "GET /conversations";
const mei = (more) => conversation({ id: "mei", updated_at: "1", created_at: "1", last_message: null, labels: [], attention: null, waiting_since: null, ...more });

beforeEach(() => {
  answers.clear();
  answers.set("GET /conversations/counts", { needs_you: 0 });
  answers.set("GET /conversations/mei/messages", { items: [], next_cursor: null });
});

/** With Mei in the list, and nobody opened. */
async function live(t) {
  const feed = line();
  answers.set("GET /events", feed.answer);
  answers.set(LIST, { items: [mei()], next_cursor: null });
  const ends = [begin(), openFeed(), () => show(null)];
  t.after(() => ends.reverse().forEach((end) => end()));
  await rest();
  feed.write("hello", {});
  await rest();
  return feed;
}

test("one that a gap in the feed left behind is shown as it is when it is opened", async (t) => {
  const feed = await live(t);
  // A colleague took it and put it off, and it stands on no page that is read again.
  answers.set(LIST, { items: [], next_cursor: null });
  feed.write("resync", {});
  await rest();
  assert.equal(known("mei").peek().mode, "AI");
  answers.set(MEI, mei({ mode: "HUMAN", mode_version: 2, status: "snoozed", updated_at: "2" }));
  show("mei");
  await rest();
  assert.deepEqual([current.peek().mode, current.peek().status], ["HUMAN", "snoozed"]);
});

test("one that was erased in a gap of the feed is not shown when it is opened, nor listed; one that a proxy refuses is", async (t) => {
  await live(t);
  answers.set(MEI, new Response("<h1>nginx</h1>", { status: 404 }));
  show("mei");
  await rest();
  assert.deepEqual([current.peek()?.id, list.peek()], ["mei", ["mei"]]);
  show(null);
  answers.set(MEI, refusal(404, "not_found"));
  show("mei");
  await rest();
  assert.deepEqual([current.peek(), opened.peek().problem.peek().status, list.peek()], [null, 404, []]);
});

test("what one may not see any more is gone, from the list and where it is open", async (t) => {
  answers.set(MEI, mei());
  me.value = { id: "ana", role: "agent", channels: ["shop", "bar"] };
  t.after(followMyself());
  const feed = await live(t);
  show("mei");
  await rest();
  answers.set(LIST, { items: [], next_cursor: null });
  answers.set(MEI, refusal(404, "not_found"));
  const seen = async (channels) => {
    answers.set("GET /me", { id: "ana", role: "agent", channels });
    feed.write("agent_updated", { type: "agent_updated", details: { agent_id: "ana" } });
    await pass(500);
    return [list.peek(), current.peek()?.id, opened.peek().problem.peek()?.status];
  };
  assert.deepEqual(await seen(["shop", "bar"]), [["mei"], "mei", undefined], "nothing is asked for while all is as it was");
  assert.deepEqual(await seen(["bar"]), [[], undefined, 404]);
});
