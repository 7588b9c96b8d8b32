// As much of a browser as the modules need that keep what is known: imported before them. Nothing is drawn in it, time moves
// by hand, and the test is the server.

import { mock } from "node:test";

mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: Date.parse("2026-03-02T09:00:00Z") });

const storage = () => {
  const kept = new Map();
  return { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, value), removeItem: (key) => void kept.delete(key), key: (at) => [...kept.keys()][at] ?? null, get length() { return kept.size; } };
};
const nothing = () => {};
/** What is done when something happens to the window, by its name. */
export const happens = {};
const moved = (_state, _title, path) => void (globalThis.location = new URL(path, location));
const element = { addEventListener: nothing, removeEventListener: nothing, querySelector: () => null };

Object.assign(globalThis, {
  window: globalThis, addEventListener: (name, run, { once } = {}) => void (happens[name] = once ? (event) => (delete happens[name], run(event)) : run), removeEventListener: (name) => delete happens[name], location: new URL("http://baton.test/inbox"),
  sessionStorage: storage(), localStorage: storage(), matchMedia: () => ({ matches: false, ...element }), CSS: { supports: () => true },
  document: { ...element, hidden: false, hasFocus: () => true, documentElement: { dataset: {}, lang: "" } },
  history: { pushState: moved, replaceState: moved },
  requestAnimationFrame: (run) => setTimeout(run, 0),
});
// Newer ones have one of their own, which is only read.
Object.defineProperty(globalThis, "navigator", { value: { platform: "Linux", languages: ["en"] } });
// The page came over plain http, as it may: it has less than one that came over https.
Object.defineProperty(crypto, "randomUUID", { value: undefined });

/**
 * What the test answers, by method and path below the API; a function is asked with what came. A `Response` goes as it is, a
 * promise is waited for, and what has no answer is not found.
 */
export const answers = new Map();
/** What was asked for, the oldest first. */
export const asked = [];

/** As the server refuses. */
export const refusal = (status, code) => new Response(JSON.stringify({ status, code, title: code }), { status });

globalThis.fetch = async (to, { method = "GET", body, signal, headers } = {}) => {
  const { pathname, searchParams } = new URL(to, location);
  const path = `${method} ${pathname.replace("/api/v1", "")}`;
  const request = { path, query: Object.fromEntries(searchParams), body: typeof body === "string" ? JSON.parse(body) : body, headers };
  asked.push(request);
  const found = answers.get(path) ?? refusal(404, "not_found");
  const cancelled = new Promise((_, refuse) => signal?.addEventListener("abort", () => refuse(signal.reason)));
  const answer = await Promise.race([typeof found === "function" ? found(request) : found, cancelled]);
  const it = answer instanceof Response ? answer.clone() : new Response(JSON.stringify(answer));
  // Whoever hangs up is told no more, in the middle of it too.
  return it.body && signal ? new Response(it.body.pipeThrough(new TransformStream(), { signal }), it) : it;
};

/** Lets all come to rest that waits for no clock. */
export async function rest() {
  for (let turns = 0; turns < 20; turns += 1) await new Promise((done) => setImmediate(done));
}

/** So much time goes by. */
export async function pass(ms) {
  await rest();
  mock.timers.tick(ms);
  await rest();
}

/** An answer that the test gives when it likes. */
export function later() {
  const it = {};
  it.answer = new Promise((done, refuse) => Object.assign(it, { give: done, fail: () => refuse(new TypeError("no line")) }));
  return it;
}

/** The line of a stream: what the server writes on it, a comment to begin with, and that it breaks. One that `isHeld` has only its headers come through. */
export function line(isHeld = false) {
  let to;
  const answer = new Response(new ReadableStream({ start: (it) => void (to = it) }));
  const send = (text) => to.enqueue(new TextEncoder().encode(text));
  const write = (type, data, id) => send(`${id ? `id: ${id}\n` : ""}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
  if (!isHeld) send(":\n\n");
  return { answer: () => answer, write, close: () => to.close() };
}
