// What is not there, by the word of the server itself; and what only a proxy in front says, while the server is being replaced.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { answers, asked, line, pass, refusal, rest } from "./page.js";
import { files } from "./sources.js";
import { conversation } from "./made.js";
import { opened, show } from "../app/inbox/opened.js";
import { openSuggestions } from "../app/inbox/suggestions.js";
import { bring } from "../app/pages/conversation_link.js";
import { conversation as known } from "../app/state/conversations.js";
import { open as openFeed } from "../app/state/feed.js";
import { begin as keepShelves, labels } from "../app/state/shelf.js";
import { get } from "../app/wire/api.js";

const MEI = "GET /conversations/mei";
const mei = conversation({ id: "mei", updated_at: "1", created_at: "1", last_message: null, labels: [], attention: null, waiting_since: null });
/** As proxies say it. */
const PROXIES = [() => new Response("404 page not found", { status: 404 }), () => new Response('{"message":"no Route matched"}', { status: 404 })];

beforeEach(() => {
  answers.clear();
  asked.length = 0;
});

/** A feed whose line breaks, and is there again. */
async function live(t) {
  const feed = line();
  answers.set("GET /events", feed.answer);
  t.after(openFeed());
  await rest();
  feed.write("hello", {});
  await rest();
  return {
    async comesBack() {
      const next = line();
      answers.set("GET /events", next.answer);
      feed.close();
      await pass(2_000);
    },
  };
}

test("no part takes a status alone for the server's word", () => {
  const wrong = files(".js").flatMap(({ path, text }) => [...text.matchAll(/\bstatus\b[^;\n]{0,4}[!=]==? 404|\[404\b/g)].map(() => path));
  assert.deepEqual(wrong, []);
});

test("only the server's own word says that something is not there", async () => {
  const problem = async (answer) => (answers.set(MEI, answer), get("/conversations/mei").catch((error) => error));
  assert.equal((await problem(refusal(404, "not_found"))).isNotThere, true);
  for (const proxy of PROXIES) {
    const { isNotThere, status, code } = await problem(proxy());
    assert.deepEqual([isNotThere, status, code], [false, 404, "unavailable"]);
  }
});

test("a conversation that a proxy had nothing for is asked for again when the line is there again", async (t) => {
  const feed = await live(t);
  t.after(() => show(null));
  answers.set(MEI, PROXIES[0]());
  show("mei");
  await rest();
  assert.deepEqual([known("mei").peek(), opened.peek().problem.peek().isNotThere], [null, false]);
  answers.set(MEI, mei);
  await feed.comesBack();
  assert.deepEqual([known("mei").peek()?.id, opened.peek().problem.peek()], ["mei", null]);
});

test("suggestions and labels that a proxy had nothing for are there when the line is", async (t) => {
  answers.set("GET /conversations/c/drafts", PROXIES[0]());
  answers.set("GET /labels", PROXIES[1]());
  const feed = await live(t);
  const suggestions = openSuggestions("c");
  t.after(suggestions.close);
  t.after(keepShelves());
  await rest();
  assert.deepEqual([suggestions.isThere.peek(), labels.items.peek()], [true, []]);
  answers.set("GET /conversations/c/drafts", { items: [{ id: "d", text: "d", state: "fresh" }], next_cursor: null });
  answers.set("GET /labels", { items: [{ name: "vip" }], next_cursor: null });
  await feed.comesBack();
  assert.deepEqual([suggestions.fresh.peek()?.id, labels.items.peek()], ["d", [{ name: "vip" }]]);
});

test("whom a link leads to is asked for again when more may be seen", async (t) => {
  const LI = "GET /conversations/li";
  const li = { ...mei, id: "li" };
  const tried = async (answer) => {
    answers.set(LI, answer);
    bring("li");
    await rest();
    return known("li").peek()?.id ?? null;
  };
  assert.equal(await tried(PROXIES[0]()), null);
  assert.equal(await tried(refusal(404, "not_found")), null);
  assert.equal(await tried(li), null, "it is not there, and is not asked for at every look");
  await live(t);
  assert.equal(await tried(li), "li");
});
