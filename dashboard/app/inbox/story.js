// What happened in one conversation, the newest first: loaded page by page, and followed.

import { batch, signal } from "../vendor/preact.js";
import { hear, keepLoaded, whenBack } from "../state/feed.js";
import { Problem, get } from "../wire/api.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Signal } from "../vendor/preact.js" */

const PAGE = 50;
/** Followed for hours it would grow without end: the oldest are let go, and loaded again when they are asked for. */
const KEPT_MAX = 500;

/**
 * @param {string} id of the conversation
 * @param {{type?: string, message_id?: string}} query
 * @param {(it: Wire.Event) => boolean} belongs the same question, asked of what the feed brings
 */
export function openStory(id, query, belongs) {
  /** The newest first. @type {Signal<Wire.Event[]>} */
  const events = signal([]);
  const hasMore = signal(false);
  const isLoaded = signal(false);
  /** @type {Signal<Problem | null>} */
  const problem = signal(null);
  const closed = new AbortController();
  /** @type {string | null} */
  let cursor = null;

  /** @param {string | null} from */
  async function load(from) {
    try {
      /** @type {Wire.Page<Wire.Event>} */
      const page = await get(`/conversations/${id}/timeline`, { ...query, order: "desc", limit: PAGE, cursor: from }, closed.signal);
      batch(() => {
        keep(page.items.filter(belongs));
        // A first page read again joins what is there, unless more happened meanwhile than it holds.
        if (from || !isLoaded.peek()) {
          cursor = page.next_cursor;
          hasMore.value = cursor !== null;
        }
        isLoaded.value = true;
        problem.value = null;
      });
    } catch (error) {
      if (closed.signal.aborted) return;
      if (!(error instanceof Problem)) throw error;
      problem.value = error;
    }
  }
  /** @param {Wire.Event[]} items */
  function keep(items) {
    const all = new Map(events.peek().map((it) => [it.id, it]));
    for (const it of items) all.set(it.id, it);
    events.value = [...all.values()].sort((a, b) => (b.conv_seq ?? 0) - (a.conv_seq ?? 0));
  }
  const ends = [
    keepLoaded(() => void load(null)),
    whenBack(() => problem.peek() && void load(null)),
    hear((event) => {
      if (event.conversation_id !== id || !belongs(event)) return;
      // What comes with it is known elsewhere, and would only weigh here.
      const { conversation: _, message: __, ...bare } = event;
      keep([bare]);
      if (events.peek().length > KEPT_MAX) {
        events.value = events.peek().slice(0, KEPT_MAX - PAGE);
        isLoaded.value = false;
        void load(null);
      }
    }),
  ];
  const close = () => {
    closed.abort();
    ends.forEach((end) => end());
  };
  return { id, events, hasMore, isLoaded, problem, more: () => load(cursor), again: () => load(null), close };
}

/** @typedef {ReturnType<typeof openStory>} Story */
