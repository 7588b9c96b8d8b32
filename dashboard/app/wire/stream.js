// A stream of events over `fetch`: unlike `EventSource`, it says why it was refused, and can tell a dead line from a silent one.

import { refused } from "./api.js";

/** The server writes at least a comment every 15 s. */
const SILENT_MS = 40_000;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 15_000;

/**
 * @typedef {{id: string, type: string, data: any}} Frame
 * @typedef {{
 *   onFrame: (frame: Frame) => void,
 *   onOpen?: () => void,
 *   onLost?: (problem: import("./api.js").Problem | null) => void,
 *   isOver?: (problem: import("./api.js").Problem) => boolean,
 * }} Listener `isOver`: after such a refusal there is nothing more to follow
 */

/**
 * Opens a stream, and opens it again whenever it ends, from where it was.
 * @param {string} url
 * @param {Listener} listener
 * @param {string} [lastId] goes on after that
 * @returns {() => void} closes it for good
 */
export function follow(url, listener, lastId = "") {
  const closed = new AbortController();
  void run(url, lastId, listener, closed.signal);
  return () => closed.abort();
}

/** @param {string} url @param {string} lastId @param {Listener} listener @param {AbortSignal} closed */
async function run(url, lastId, listener, closed) {
  let wait = RETRY_MIN_MS;
  const onFrame = (/** @type {Frame} */ frame) => {
    // Only what came in whole counts: that is where it goes on.
    if (frame.id) lastId = frame.id;
    listener.onFrame(frame);
  };
  while (!closed.aborted) {
    const problem = await once(url, lastId, { ...listener, onFrame, onOpen: () => {
      wait = RETRY_MIN_MS;
      listener.onOpen?.();
    } }, closed);
    if (closed.aborted) return;
    listener.onLost?.(problem);
    // Strangers are refused whenever they ask. Anything else may be a proxy in front, of a server that is just being replaced.
    if (problem && (problem.status === 401 || listener.isOver?.(problem))) return;
    await pause(wait * (0.75 + Math.random() / 2), closed);
    wait = Math.min(wait * 2, RETRY_MAX_MS);
  }
}

/**
 * @param {string} url @param {string} lastId @param {Listener} listener @param {AbortSignal} closed
 * @returns {Promise<import("./api.js").Problem | null>} why it was refused; null if it merely ended
 */
async function once(url, lastId, listener, closed) {
  const line = new AbortController();
  const hangUp = () => line.abort();
  closed.addEventListener("abort", hangUp);
  let silence = setTimeout(hangUp, SILENT_MS);
  try {
    /** @type {Record<string, string>} */
    const headers = { accept: "text/event-stream" };
    if (lastId) headers["last-event-id"] = lastId;
    const answer = await fetch(url, { headers, signal: line.signal, cache: "no-store" });
    if (!answer.ok || !answer.body) return await refused(answer);
    listener.onOpen?.();
    const take = reader(listener.onFrame);
    for await (const text of pieces(answer.body)) {
      clearTimeout(silence);
      silence = setTimeout(hangUp, SILENT_MS);
      take(text);
    }
  } catch (error) {
    // Whatever broke the line, the answer to it is the same: dial again. A fault of our own is none of that.
    if (!(error instanceof TypeError || error instanceof DOMException)) throw error;
  } finally {
    clearTimeout(silence);
    closed.removeEventListener("abort", hangUp);
    line.abort();
  }
  return null;
}

/** @param {ReadableStream<Uint8Array>} body */
async function* pieces(body) {
  const from = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await from.read();
    if (done) return;
    yield decoder.decode(value, { stream: true });
  }
}

/**
 * Puts frames together from text that comes in pieces.
 * @param {(frame: Frame) => void} onFrame
 */
export function reader(onFrame) {
  let rest = "";
  return (/** @type {string} */ text) => {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const frame = { id: "", type: "message", data: /** @type {any} */ (null) };
      for (const line of block.split("\n")) {
        const [, name, value] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
        if (name === "id") frame.id = value;
        if (name === "event") frame.type = value;
        if (name === "data") frame.data = JSON.parse(value);
      }
      if (frame.data !== null) onFrame(frame);
    }
  };
}

/** @param {number} ms @param {AbortSignal} closed */
function pause(ms, closed) {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    closed.addEventListener("abort", () => {
      clearTimeout(timer);
      done(undefined);
    }, { once: true });
  });
}
