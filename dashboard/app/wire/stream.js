// A stream of events over `fetch`: unlike `EventSource`, it says why it was refused, and can tell a dead line from a silent one.

import { refused } from "./api.js";

/** So long one that was dialled may take to answer. */
const ANSWER_MS = 40_000;
/** The server writes at least a comment every 15 s. */
const SILENT_MS = 20_000;
/** And its first word at once. What takes longer is held back on its way, as by a proxy that collects what it passes on. */
const FIRST_MS = 5_000;
/** By the clock on the wall, looked at so often: a timer for the whole of it stands still while the computer sleeps. */
const LOOK_MS = 5_000;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 15_000;

/** What each line does when there may be a network again. @type {Set<() => void>} */
const wakers = new Set();

/** Somebody looks, or the network is back: a line that is dead is dropped, and one that waits to be dialled again is dialled now. */
export const wake = () => wakers.forEach((one) => one());
addEventListener("online", wake);
document.addEventListener("visibilitychange", () => document.hidden || wake());

/**
 * @typedef {{id: string, type: string, data: any}} Frame
 * @typedef {{
 *   onFrame: (frame: Frame) => void,
 *   onOpen?: () => void,
 *   onMute?: () => void,
 *   onHeard?: () => void,
 *   onLost?: (problem: import("./api.js").Problem | null) => void,
 *   isOver?: (problem: import("./api.js").Problem) => boolean,
 * }} Listener `onOpen`: the first word has come through, and not merely the promise
 *   of one; `onMute`: there is only that promise; `onHeard`: a word has come, if only that the line is there; `isOver`: after such
 *   a refusal there is nothing more to follow
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
    const problem = await once(url, lastId, {
      ...listener,
      onFrame,
      onOpen: () => {
        wait = RETRY_MIN_MS;
        listener.onOpen?.();
      },
      onMute: () => {
        wait = RETRY_MIN_MS;
        listener.onMute?.();
      },
    }, closed);
    if (closed.aborted) return;
    listener.onLost?.(problem);
    // Strangers are refused whenever they ask. Anything else may be a proxy in front, of a server that is just being replaced.
    if (problem && (problem.status === 401 || listener.isOver?.(problem))) return;
    const isWoken = await pause(wait * (0.75 + Math.random() / 2), closed);
    wait = isWoken ? RETRY_MIN_MS : Math.min(wait * 2, RETRY_MAX_MS);
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
  let patience = ANSWER_MS;
  let heardAt = Date.now();
  const look = () => void (Date.now() - heardAt > patience && hangUp());
  const watch = setInterval(look, LOOK_MS);
  let firstDue = 0;
  wakers.add(look);
  try {
    /** @type {Record<string, string>} */
    const headers = { accept: "text/event-stream" };
    if (lastId) headers["last-event-id"] = lastId;
    const answer = await fetch(url, { headers, signal: line.signal, cache: "no-store" });
    if (!answer.ok || !answer.body) return await refused(answer);
    [patience, heardAt] = [SILENT_MS, Date.now()];
    firstDue = window.setTimeout(() => listener.onMute?.(), FIRST_MS);
    let isOpen = false;
    const take = reader(listener.onFrame);
    for await (const text of pieces(answer.body)) {
      heardAt = Date.now();
      clearTimeout(firstDue);
      if (!isOpen) listener.onOpen?.();
      isOpen = true;
      listener.onHeard?.();
      take(text);
    }
  } catch (error) {
    // Whatever broke the line, the answer to it is the same: dial again. A fault of our own is none of that.
    if (!(error instanceof TypeError || error instanceof DOMException)) throw error;
  } finally {
    clearInterval(watch);
    clearTimeout(firstDue);
    wakers.delete(look);
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

/** @param {number} ms @param {AbortSignal} closed @returns {Promise<boolean>} whether it was cut short */
function pause(ms, closed) {
  return new Promise((done) => {
    /** @param {boolean} isWoken */
    const end = (isWoken) => {
      clearTimeout(timer);
      wakers.delete(woken);
      closed.removeEventListener("abort", woken);
      done(isWoken);
    };
    const woken = () => end(true);
    const timer = setTimeout(() => end(false), ms);
    wakers.add(woken);
    closed.addEventListener("abort", woken);
  });
}
