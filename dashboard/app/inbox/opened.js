// The conversation that is open, as the address says: its thread, and what is not kept of it.

import { batch, computed, effect, signal, untracked } from "../vendor/preact.js";
import { conversation, drop, load } from "../state/conversations.js";
import { hear, keepLoaded, whenBack } from "../state/feed.js";
import { watch } from "../state/live.js";
import { route } from "../state/route.js";
import { openThread } from "../state/thread.js";
import { Problem } from "../wire/api.js";
import { markReadAgain, markUnread } from "./acts.js";
import { openSuggestions } from "./suggestions.js";
import { openDecisions } from "./timeline.js";

/** @import { Signal } from "../vendor/preact.js" */

/**
 * @typedef {{
 *   id: string,
 *   thread: import("../state/thread.js").Thread,
 *   live: import("../state/live.js").Live,
 *   decisions: import("./story.js").Story,
 *   suggestions: import("./suggestions.js").Suggestions,
 *   problem: Signal<Problem | null>,
 *   look: () => Promise<void>,
 *   isKeptUnread: Signal<boolean>,
 *   ends: (() => void)[],
 * }} Opened `problem` is why the conversation itself could not be loaded; `look` asks for it again; `isKeptUnread`: to look at
 *   it does not make it read
 */

/** @type {Signal<Opened | null>} */
export const opened = signal(null);

/** The conversation that is open; null while there is none or it is not known. */
export const current = computed(() => (opened.value ? conversation(opened.value.id).value : null));

/** Follows the address for as long as the inbox is shown; returns what ends it. */
export function followAddress() {
  const stop = effect(() => {
    const { page, id, query } = route.value;
    // The page of a conversation that is not there any more has no address of its own.
    untracked(() => open(page === "inbox" || page === "" ? id : null, Number(query.get("seq")) || null));
  });
  return () => {
    stop();
    open(null, null);
  };
}

/** Opens one on a page whose address does not name it, as the playground; null closes it. @param {string | null} id */
export const show = (id) => open(id, null);

/** Unread again, for later, although it is looked at now. @param {Opened} it */
export async function leaveUnread(it) {
  it.isKeptUnread.value = true;
  it.isKeptUnread.value = await markUnread(it.id);
}

/** @param {string | null} id @param {number | null} at */
function open(id, at) {
  const before = opened.peek();
  if (before?.id === id) return;
  batch(() => {
    before?.thread.close();
    before?.live.close();
    before?.suggestions.close();
    before?.decisions.close();
    before?.ends.forEach((end) => end());
    opened.value = id ? begin(id, at) : null;
  });
}

/** @param {string} id @param {number | null} at @returns {Opened} */
function begin(id, at) {
  /** @type {Signal<Problem | null>} */
  const problem = signal(null);
  async function look() {
    try {
      await load(id);
      if (conversation(id).peek()) problem.value = null;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problem.value = error;
      if (error.isNotThere) drop(id);
    }
  }
  const suggestions = openSuggestions(id);
  return { id, thread: openThread(id, at, suggestions.used), live: watch(id), decisions: openDecisions(id), suggestions, problem, look, isKeptUnread: signal(false), ends: [
    // Also one that is known: after a gap in the feed only the beginning of the list was read again, and it may be of before.
    keepLoaded(() => void look()),
    // What is not there stays so; whatever else kept it from being loaded may be over.
    whenBack(() => markReadAgain(id)),
    whenBack(() => problem.peek()?.isNotThere === false && void look()),
    hear((event) => {
      if (event.type === "conversation_erased" && event.conversation_id === id) problem.value = new Problem({ status: 404, code: "erased" });
    }),
  ] };
}
