// The messages of the conversation that is open: the newest first, older ones as they are asked for, and what is being sent.

import { batch, signal } from "../vendor/preact.js";
import { Problem, get, post } from "../wire/api.js";
import { hear, keepLoaded } from "./feed.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Signal } from "../vendor/preact.js" */

/**
 * What we are about to send: shown at once, and never as more than it is.
 * @typedef {{key: string, text: string, quoted: Wire.Message | null, at: string, problem: Problem | null}} Owed
 */

const PAGE = 50;
/** What changes beside the message an event names (an outcome, a part) is read again, at most this often. */
const LOOK_AGAIN_MS = 150;

/** @param {string} id of the conversation */
export function openThread(id) {
  /** By sequence number. @type {Signal<Map<number, Wire.Message>>} */
  const messages = signal(new Map());
  /** @type {Signal<Owed[]>} */
  const owed = signal([]);
  /** @type {Signal<Problem | null>} */
  const problem = signal(null);
  const isLoaded = signal(false);
  /** Whether there are older ones than those loaded. */
  const hasOlder = signal(false);
  const closed = new AbortController();
  let again = 0;

  /** @param {Wire.Message[]} items */
  function keep(items) {
    if (items.length === 0) return;
    const all = new Map(messages.peek());
    for (const it of items) all.set(it.seq, it);
    messages.value = all;
  }

  /** @param {Record<string, any>} query */
  async function read(query) {
    /** @type {Wire.Page<Wire.Message>} */
    const page = await get(`/conversations/${id}/messages`, { limit: PAGE, ...query }, closed.signal);
    return page;
  }

  async function newest() {
    try {
      const { items, next_cursor } = await read({});
      batch(() => {
        const newestKnown = Math.max(0, ...messages.peek().keys());
        const oldestRead = items.at(-1)?.seq ?? 0;
        // A gap between what is known and what was read: what lies before it is loaded again when it is scrolled to.
        if (isLoaded.peek() && oldestRead > newestKnown + 1) messages.value = new Map();
        if (!isLoaded.peek() || oldestRead > newestKnown + 1) hasOlder.value = next_cursor !== null;
        keep(items);
        isLoaded.value = true;
        problem.value = null;
      });
    } catch (error) {
      if (closed.signal.aborted) return;
      if (!(error instanceof Problem)) throw error;
      problem.value = error;
    }
  }

  async function older() {
    const before = Math.min(...messages.peek().keys());
    const { items, next_cursor } = await read({ before });
    batch(() => {
      keep(items);
      hasOlder.value = next_cursor !== null;
    });
  }

  function lookAgain() {
    if (!again) again = window.setTimeout(() => {
      again = 0;
      void newest();
    }, LOOK_AGAIN_MS);
  }

  /**
   * Sends a text. Until the server has it, it is owed here and shown as that; the key makes a second try safe.
   * @param {string} text @param {Wire.Message | null} quoted
   * @returns {Promise<Wire.Receipt | null>} what the takeover stopped
   */
  async function say(text, quoted) {
    const it = { key: crypto.randomUUID(), text, quoted, at: new Date().toISOString(), problem: null };
    owed.value = [...owed.peek(), it];
    return await bring(it);
  }

  /** Brings what is owed to the server, again if need be. @param {Owed} it */
  async function bring(it) {
    owed.value = owed.peek().map((other) => (other.key === it.key ? { ...it, problem: null } : other));
    const body = { text: it.text, ...(it.quoted && { quoted_message_id: it.quoted.id }) };
    try {
      const { takeover, ...message } = await post(`/conversations/${id}/messages`, body, { key: it.key });
      batch(() => {
        keep([message]);
        forget(it);
      });
      lookAgain();
      return /** @type {Wire.Receipt | null} */ (takeover);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      owed.value = owed.peek().map((other) => (other.key === it.key ? { ...it, problem: error } : other));
      throw error;
    }
  }

  /** @param {Owed} it */
  function forget(it) {
    owed.value = owed.peek().filter((other) => other.key !== it.key);
  }

  const ends = [
    keepLoaded(() => void newest()),
    hear((event) => {
      if (event.conversation_id !== id) return;
      if (event.message) keep([event.message]);
      lookAgain();
    }),
  ];
  function close() {
    closed.abort();
    clearTimeout(again);
    ends.forEach((end) => end());
  }

  return { id, messages, owed, problem, isLoaded, hasOlder, older, say, bring, forget, lookAgain, close };
}

/** @typedef {ReturnType<typeof openThread>} Thread */
