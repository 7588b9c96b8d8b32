// What one contact's phone shows. Asked for after each event of the conversation; the ticks and the typing make no event, so
// while something is going on it is asked for once a second besides.

import { batch, signal } from "../vendor/preact.js";
import { Problem, get, post } from "../wire/api.js";
import { uuid } from "../wire/random.js";
import { serverNow } from "../wire/server_time.js";
import { conversation } from "../state/conversations.js";
import { hear, keepLoaded } from "../state/feed.js";
import { CHANNEL, contacts } from "./contacts.js";

/** @import { Signal } from "../vendor/preact.js" */

/**
 * @typedef {{id: string, author: "contact" | "business", text: string, at: string, status: "sent" | "delivered" | "read"}} Bubble
 * @typedef {{id: string, text: string, at: string, problem: Problem | null}} Owed what is not at Baton's door yet
 */

/** One look for all that happens within this time. */
const LOOK_MS = 120;
const BUSY_MS = 1_000;

/** @param {string} chat @param {string} name */
export function openScreen(chat, name) {
  /** Oldest first. @type {Signal<Bubble[]>} */
  const bubbles = signal([]);
  const typing = signal(false);
  /** @type {Signal<Owed[]>} */
  const owed = signal([]);
  const isLoaded = signal(false);
  /** @type {Signal<Problem | null>} */
  const problem = signal(null);
  const closed = new AbortController();
  let shown = "";
  let timer = 0;
  let dueAt = Infinity;
  /** Whether there was an event since the last look: what it leads to may come a little later, so there is one look more. */
  let isStirred = false;

  /** In this time, unless it is to be sooner already. @param {number} ms */
  function lookIn(ms) {
    const at = Date.now() + ms;
    if (closed.signal.aborted || at >= dueAt) return;
    clearTimeout(timer);
    dueAt = at;
    timer = window.setTimeout(look, ms);
  }

  async function look() {
    clearTimeout(timer);
    dueAt = Infinity;
    try {
      const screen = await get(`/sandbox/chats/${encodeURIComponent(chat)}`, {}, closed.signal);
      batch(() => {
        problem.value = null;
        isLoaded.value = true;
        take(screen);
      });
    } catch (error) {
      if (closed.signal.aborted) return;
      if (!(error instanceof Problem)) throw error;
      problem.value = error;
    }
    if (isBusy() || isStirred) lookIn(BUSY_MS);
    isStirred = false;
  }

  /** @param {{typing: boolean, messages: Bubble[]}} screen */
  function take(screen) {
    typing.value = screen.typing;
    const ids = screen.messages.map(({ id }) => id);
    owed.value = owed.peek().filter(({ id }) => !ids.includes(id));
    // Most looks find nothing new, and then nothing is drawn.
    const now = JSON.stringify(screen.messages);
    if (now !== shown) bubbles.value = screen.messages;
    shown = now;
  }

  function isBusy() {
    const id = contacts.peek().find((it) => it.chat === chat)?.conversation;
    const it = id ? conversation(id).peek() : null;
    return typing.peek() || problem.peek() !== null || (it !== null && (it.activity !== "idle" || it.queue.inbox + it.queue.outbox > 0));
  }

  /** The contact writes. Until it is taken it is shown as that; its id makes a second try safe. @param {string} text */
  function say(text) {
    const it = { id: `play-${uuid()}`, text, at: new Date(serverNow()).toISOString(), problem: null };
    owed.value = [...owed.peek(), it];
    return bring(it);
  }

  /** Brings what is owed to Baton's door, again if need be. @param {Owed} it */
  async function bring(it) {
    /** @param {Problem | null} found */
    const mark = (found) => {
      owed.value = owed.peek().map((other) => (other.id === it.id ? { ...it, problem: found } : other));
    };
    mark(null);
    try {
      await post("/webhooks/sandbox", { chat_id: chat, name, text: it.text, id: it.id });
      lookIn(0);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      mark(error);
    }
  }

  /** The business's own phone writes. @param {string} text */
  async function sayAsBusiness(text) {
    await post(`/sandbox/chats/${encodeURIComponent(chat)}/phone-message`, { text });
    lookIn(0);
  }

  const ends = [
    keepLoaded(() => lookIn(0)),
    hear((event) => {
      if (event.channel !== CHANNEL || (event.conversation?.chat_id !== chat && event.type !== "conversation_erased")) return;
      isStirred = true;
      lookIn(LOOK_MS);
    }),
  ];
  function close() {
    closed.abort();
    clearTimeout(timer);
    ends.forEach((end) => end());
  }
  return { chat, name, bubbles, typing, owed, isLoaded, problem, look, say, bring, sayAsBusiness, close };
}

/** @typedef {ReturnType<typeof openScreen>} Screen */
