// The AI's suggestions for the conversation that is open: the fresh one, as long as it is.

import { batch, signal } from "../vendor/preact.js";
import { hear, keepLoaded, whenBack } from "../state/feed.js";
import { Problem, get, post, remove } from "../wire/api.js";
import { sayProblem } from "../parts/toast.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Signal } from "../vendor/preact.js" */

/** One that was asked for and did not come in this time is no longer waited for. */
const ASKED_MS = 120_000;

/** @param {string} id of the conversation */
export function openSuggestions(id) {
  /** @type {Signal<Wire.Draft | null>} */
  const fresh = signal(null);
  /** Whether one was asked for and is on its way. */
  const isAsked = signal(false);
  /** False where the server knows no suggestions. */
  const isThere = signal(true);
  const closed = new AbortController();
  let patience = 0;
  /** How many times it was begun to load: what was asked for before the last has read what was, and may come after it. */
  let begun = 0;
  /** It could not be asked for: what is shown is of before. */
  let isOld = false;

  async function load() {
    const mine = (begun += 1);
    try {
      /** @type {Wire.Page<Wire.Draft>} */
      const { items } = await get(`/conversations/${id}/drafts`, { limit: 5 }, closed.signal);
      if (mine !== begun) return;
      fresh.value = items.find((it) => it.state === "fresh") ?? null;
      isOld = false;
    } catch (error) {
      if (closed.signal.aborted) return;
      if (!(error instanceof Problem)) throw error;
      if (mine !== begun) return;
      if (error.isNotThere) isThere.value = false;
      isOld = !error.isNotThere;
    }
  }
  function wait(/** @type {boolean} */ on) {
    clearTimeout(patience);
    isAsked.value = on;
    if (on) patience = window.setTimeout(() => (isAsked.value = false), ASKED_MS);
  }
  async function ask() {
    wait(true);
    try {
      await post(`/conversations/${id}/drafts`);
    } catch (error) {
      wait(false);
      sayProblem(error);
    }
  }
  /** @param {Wire.Draft} it */
  async function discard(it) {
    if (fresh.peek()?.id === it.id) fresh.value = null;
    try {
      await remove(`/conversations/${id}/drafts/${it.id}`);
    } catch (error) {
      // Retired meanwhile: it is gone either way.
      if (!(error instanceof Problem && (error.isNotThere || error.status === 409))) sayProblem(error);
      void load();
    }
  }

  /** It was sent: it is none any more, also while the feed is not there to tell. @param {string} draft */
  function used(draft) {
    if (fresh.peek()?.id !== draft) return;
    fresh.value = null;
    void load();
  }

  const ends = [
    keepLoaded(() => void load()),
    whenBack(() => isOld && void load()),
    hear((event) => {
      if (event.conversation_id !== id) return;
      if (event.type === "draft_created" || isOver(event)) wait(false);
      if (event.type === "draft_created") void load();
      if (event.type === "draft_retired") batch(() => {
        const gone = event.details.draft_id;
        if (!gone || gone === fresh.peek()?.id) fresh.value = null;
        void load();
      });
    }),
  ];
  function close() {
    closed.abort();
    clearTimeout(patience);
    ends.forEach((end) => end());
  }
  return { fresh, isAsked, isThere, ask, discard, used, close };
}

/**
 * Whether what was asked for will not come: a person has written, here or on the phone, nobody answers any more or the AI does,
 * or it has failed for good.
 * @param {Wire.Event} event
 */
function isOver({ type, action, details, message }) {
  switch (type) {
    case "message_queued":
      return message?.author === "agent";
    case "message_sent":
      // Who reacts or calls has written nothing.
      return details.origin !== undefined && details.kind === undefined;
    case "mode_changed":
      return details.to === "AI";
    case "conversation_updated":
      return action === "closed";
    case "turn_failed":
      return action === "handed_over";
    default:
      return false;
  }
}

/** @typedef {ReturnType<typeof openSuggestions>} Suggestions */
