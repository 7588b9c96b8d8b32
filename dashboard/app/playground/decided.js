// The events of one conversation, the newest first: those that were there, and each as it happens.

import { useEffect, useSignal } from "../vendor/preact.js";
import { hear, keepLoaded } from "../state/feed.js";
import { Problem, get } from "../wire/api.js";

/** @import * as Wire from "../../types/wire.js" */

/** More than anybody reads back in a play; older ones are in the inbox's timeline. */
const KEPT_MAX = 200;

/** @param {string | null} id of the conversation @returns {Wire.Event[]} */
export function useDecisions(id) {
  const events = useSignal(/** @type {Wire.Event[]} */ ([]));
  useEffect(() => {
    events.value = [];
    if (!id) return;
    const closed = new AbortController();
    /** What was loaded and what was told overlap. @param {Wire.Event[]} more */
    const keep = (more) => {
      const all = new Map([...more, ...events.peek()].map((event) => [event.id, event]));
      events.value = [...all.values()].sort((one, other) => (other.conv_seq ?? 0) - (one.conv_seq ?? 0)).slice(0, KEPT_MAX);
    };
    async function load() {
      try {
        keep((await get(`/conversations/${id}/timeline`, { order: "desc", limit: KEPT_MAX }, closed.signal)).items);
      } catch (error) {
        // What happens from now on is told all the same.
        if (!closed.signal.aborted && !(error instanceof Problem)) throw error;
      }
    }
    const ends = [keepLoaded(() => void load()), hear((event) => event.conversation_id === id && keep([event]))];
    return () => {
      closed.abort();
      ends.forEach((end) => end());
    };
  }, [id]);
  return events.value;
}
