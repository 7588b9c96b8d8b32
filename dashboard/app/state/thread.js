// The messages of the conversation that is open: the newest first, older and newer ones as they are asked for, and what
// is being sent. What is loaded is always one piece, without a gap.

import { batch, computed, signal } from "../vendor/preact.js";
import { Problem, get } from "../wire/api.js";
import { uuid } from "../wire/random.js";
import { serverNow } from "../wire/server_time.js";
import { bring as bringOwed, forget as forgetOwed } from "./bringing.js";
import { hear, keepLoaded, whenBack } from "./feed.js";
import { owedOf, setOwed } from "./owed.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Signal } from "../vendor/preact.js" */
/** @import { Owed } from "./owed.js" */

const PAGE = 50;
/** What changes beside the message an event names (an outcome, a part) is read again, at most this often. */
const LOOK_AGAIN_MS = 150;

/**
 * @param {string} id of the conversation @param {number | null} [at] the message to begin with; else the newest
 * @param {(draft: string) => void} [onUsed] told of a suggestion that was sent
 */
export function openThread(id, at = null, onUsed = () => {}) {
  /** By sequence number. @type {Signal<Map<number, Wire.Message>>} */
  const messages = signal(new Map());
  /** The same in order, the oldest first. */
  const ordered = computed(() => [...messages.value.values()].sort((a, b) => a.seq - b.seq));
  const owed = owedOf(id);
  /** @type {Signal<Problem | null>} */
  const problem = signal(null);
  const isLoaded = signal(false);
  /** Whether there are older ones than those loaded. */
  const hasOlder = signal(false);
  /** Whether there are newer ones than those loaded: only after a jump to an old message. */
  const hasNewer = signal(false);
  const closed = new AbortController();
  let lookDue = 0;
  /** What is being loaded now: nothing is asked for twice at once. @type {Promise<void> | null} */
  let loading = null;
  /** What could not be loaded. @type {(() => Promise<void>) | null} */
  let failed = null;
  /** What the feed has told of since that was asked for: it may be newer than what was read. @type {Map<number, Wire.Message>} */
  const heard = new Map();

  const newestKnown = () => Math.max(0, ...messages.peek().keys());
  const oldestKnown = () => Math.min(...messages.peek().keys());
  /** Whether others stand between what is loaded and this one: kept, it would hide from the next look that they are missing. @param {Wire.Message} it */
  const isTorn = (it) => it.seq > newestKnown() + 1;

  /** @param {Wire.Message[]} items */
  function keep(items) {
    if (items.length === 0) return;
    const all = new Map(messages.peek());
    for (const it of items) all.set(it.seq, it);
    messages.value = all;
  }

  /** @param {Record<string, any>} query @returns {Promise<Wire.Page<Wire.Message>>} */
  async function read(query) {
    heard.clear();
    /** @type {Wire.Page<Wire.Message>} */
    const page = await get(`/conversations/${id}/messages`, { limit: PAGE, ...query }, closed.signal);
    return { ...page, items: page.items.map((it) => heard.get(it.seq) ?? it) };
  }

  /** Loads, and keeps why that failed. @param {() => Promise<void>} how */
  function tryTo(how) {
    loading ??= (async () => {
      try {
        await how();
        failed = null;
        problem.value = null;
      } catch (error) {
        if (closed.signal.aborted) return;
        if (!(error instanceof Problem)) throw error;
        failed = how;
        problem.value = error;
      } finally {
        loading = null;
      }
    })();
    return loading;
  }

  /** Loads what could not be loaded. */
  const again = async () => {
    if (failed) await tryTo(failed);
  };

  /** Reads the end of what is loaded again: the newest, unless we stand further back. */
  const newest = () => tryTo(async () => {
    const isBack = hasNewer.peek();
    const { items, next_cursor } = await read(isBack ? { before: newestKnown() + 1 } : {});
    batch(() => {
      const oldestRead = items.at(-1)?.seq ?? 0;
      // A gap between what is known and what was read: what lies before it is loaded again when it is scrolled to.
      const isGap = isLoaded.peek() && !isBack && oldestRead > newestKnown() + 1;
      if (isGap) messages.value = new Map();
      if (!isLoaded.peek() || isGap) hasOlder.value = next_cursor !== null;
      keep(items);
      isLoaded.value = true;
    });
  });

  const older = () => tryTo(async () => {
    const { items, next_cursor } = await read({ before: oldestKnown() });
    batch(() => {
      keep(items);
      hasOlder.value = next_cursor !== null;
    });
  });

  const newer = () => tryTo(async () => {
    const { items } = await read({ after: newestKnown() });
    batch(() => {
      keep(items);
      hasNewer.value = items.length === PAGE;
    });
  });

  /** Loads what stands around a message, in place of what was loaded. @param {number} seq */
  async function around(seq) {
    while (loading) await loading;
    // It came with what was being loaded.
    if (messages.peek().has(seq)) return;
    await tryTo(async () => {
      const { items, next_cursor } = await read({ around: seq });
      batch(() => {
        messages.value = new Map();
        keep(items);
        hasOlder.value = next_cursor !== null;
        // Half of what was asked for is newer, as far as there is so much: less is all there is.
        hasNewer.value = items.filter((it) => it.seq > seq).length === Math.floor(PAGE / 2);
        isLoaded.value = true;
      });
      // What was heard meanwhile went to what stood here before.
      lookAgain();
    });
  }

  /** Back to the newest, from wherever we stand. */
  async function toNewest() {
    if (!hasNewer.peek()) return;
    // A second look that waited too may have begun in between: it reads the end of what stands here, which is none.
    while (loading) await loading;
    batch(() => {
      messages.value = new Map();
      hasNewer.value = false;
      isLoaded.value = false;
    });
    await newest();
  }

  function lookAgain() {
    if (!lookDue) lookDue = window.setTimeout(async () => {
      // What is being loaded may have been read before the change that we look for. One look is for all that comes meanwhile.
      try {
        while (loading) await loading;
      } finally {
        lookDue = 0;
      }
      await newest();
    }, LOOK_AGAIN_MS);
  }

  /**
   * Sends a text. Until the server has it, it is owed here and shown as that; it is when this returns, or this throws.
   * @param {Pick<Owed, "kind" | "text" | "draft" | "quoted" | "file">} words
   * @returns {Promise<Wire.Receipt | null>} what the takeover stopped
   */
  function say(words) {
    const it = { ...words, key: uuid(), at: new Date(serverNow()).toISOString(), after: newestKnown(), force: false, problem: null };
    setOwed(id, [...owed.peek(), it]);
    return bring(it);
  }

  /** @param {Owed} it @param {{force?: boolean}} [how] `force`: although the suggestion is no longer fresh */
  async function bring(it, how) {
    const receipt = await bringOwed(id, it, { ...how, onTaken: (message) => take(it, message) });
    lookAgain();
    return receipt;
  }

  /** @param {Owed} it @param {Wire.Message | undefined} message */
  function take(it, message) {
    // In one that was merged it stands where that went, by a number of that. What the feed has told of it is newer: a second
    // try is answered as the first was.
    const isHere = message?.conversation_id === id && !hasNewer.peek() && !isTorn(message) && !messages.peek().has(message.seq);
    if (isHere) keep([message]);
    if (it.draft) onUsed(it.draft.id);
  }

  /** @param {Owed} it */
  const forget = (it) => forgetOwed(id, it);

  const ends = [
    keepLoaded(() => (at && !isLoaded.peek() ? void around(at) : isLoaded.peek() ? lookAgain() : void newest())),
    whenBack(() => void again()),
    hear((event) => {
      if (event.conversation_id !== id) return;
      const it = event.message;
      if (it && loading) heard.set(it.seq, it);
      // What is older than all that is loaded, or newer where we stand further back, comes when it is scrolled to.
      const isBeyond = it && ((hasOlder.peek() && it.seq < oldestKnown()) || (hasNewer.peek() && it.seq > newestKnown()));
      const isMissed = it && !hasNewer.peek() && (!isLoaded.peek() || isTorn(it));
      if (it && isLoaded.peek() && !isBeyond && !isMissed) keep([it]);
      if (isMissed || changesMessages(event)) lookAgain();
    }),
  ];
  function close() {
    closed.abort();
    clearTimeout(lookDue);
    ends.forEach((end) => end());
  }

  return { id, messages, ordered, owed, problem, isLoaded, hasOlder, hasNewer, older, newer, around, toNewest, newest, again, say, bring, forget, keep, lookAgain, close };
}

/** Whether an event may change messages other than the one it carries. @param {Wire.Event} event */
function changesMessages(event) {
  return !["delivery_updated", "attention_raised", "attention_cleared", "note_added", "draft_created", "draft_retired"].includes(event.type)
    && !(event.type === "conversation_updated" && event.action !== "closed" && event.action !== "merged");
}

/** @typedef {ReturnType<typeof openThread>} Thread */
