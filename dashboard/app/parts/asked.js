// What the server says to a question of a page: asked while it is shown, again when the question changes or when told to.
// What was said last stays on the page until there is something newer.

import { batch, useEffect, useRef, useSignal } from "../vendor/preact.js";
import { hear, keepLoaded } from "../state/feed.js";
import { Problem, address, get } from "../wire/api.js";
import { serverNow } from "../wire/server_time.js";

/** @import * as Wire from "../../types/wire.js" */

/** Of one page of a list, and the most the API gives at once. */
const PAGE = 50;
const PAGE_MAX = 200;
/** However much happens, a list is asked for again at most this often. */
const AGAIN_MS = 1_000;
/** Between two questions for what ends without a word. */
const ON_ITS_WAY_MS = 2_000;

/**
 * Asks one thing at a time: what is to be asked meanwhile is asked once after that, however often it is told. To cut off what is
 * under way would leave a page without an answer for as long as things happen faster than the server answers.
 */
export function oneByOne() {
  /** @type {Promise<void> | null} */
  let going = null;
  /** The newest way to ask each that waits, and when it has been asked. @type {Map<string, {ask: () => Promise<void>, over: Promise<void>}>} */
  const waiting = new Map();
  /** @param {string} what @param {() => Promise<void>} ask @returns {Promise<void>} */
  function next(what, ask) {
    if (!going) return (going = ask().finally(() => (going = null)));
    const waits = waiting.get(what);
    if (waits) {
      waits.ask = ask;
      return waits.over;
    }
    const then = () => {
      const { ask: newest } = /** @type {{ask: () => Promise<void>}} */ (waiting.get(what));
      waiting.delete(what);
      return next(what, newest);
    };
    const over = going.then(then, then);
    waiting.set(what, { ask, over });
    return over;
  }
  return next;
}

/** What belongs to one question: another cuts it off. */
const begin = () => ({ stop: new AbortController(), line: oneByOne() });

/**
 * One answer.
 * @param {string | null} path below `/api/v1`; null asks nothing
 * @param {Record<string, any>} [query]
 * @param {string | null} [question] what the question is to people: while it stays, what was said last stays on the page,
 *   although the query (such as a time) moves on
 */
export function useAsked(path, query = {}, question = path && address(path, query)) {
  const answer = useSignal(/** @type {any} */ (null));
  const problem = useSignal(/** @type {Problem | null} */ (null));
  /** When it was answered last. */
  const at = useSignal(0);
  const asking = useRef(begin());

  async function again() {
    if (!path) return;
    const { stop: { signal }, line } = asking.current;
    await line("again", () => kept(signal, problem, async () => {
      const said = await get(path, query, signal);
      if (signal.aborted) return;
      answer.value = said;
      at.value = serverNow();
    }));
  }
  useEffect(() => {
    asking.current = begin();
    answer.value = null;
    void again();
    return () => asking.current.stop.abort();
  }, [question]);
  return { answer: answer.value, problem: problem.value, at: at.value, again };
}

/**
 * A list, page by page. `items` is null until the first page is there.
 * @template T
 * @param {string | null} path below `/api/v1`; null asks nothing
 * @param {Record<string, any>} [query]
 */
export function useListed(path, query = {}) {
  const question = path && address(path, query);
  const items = useSignal(/** @type {T[] | null} */ (null));
  const cursor = useSignal(/** @type {string | null} */ (null));
  const problem = useSignal(/** @type {Problem | null} */ (null));
  const asking = useRef(begin());
  /** The next page, while it is on its way. @type {{current: Promise<void> | null}} */
  const paging = useRef(null);

  /** @param {"again" | "more"} what */
  async function ask(what) {
    if (!path) return;
    const { stop: { signal }, line } = asking.current;
    await line(what, () => kept(signal, problem, async () => {
      const from = what === "more" ? cursor.peek() : null;
      // As many as are shown: who has loaded more does not lose them, up to what one answer may hold.
      const limit = from ? PAGE : Math.min(PAGE_MAX, Math.max(PAGE, items.peek()?.length ?? 0));
      /** @type {Wire.Page<T>} */
      const page = await get(path, { ...query, limit, cursor: from }, signal);
      if (signal.aborted) return;
      batch(() => {
        items.value = from ? [...(items.peek() ?? []), ...page.items] : page.items;
        cursor.value = page.next_cursor;
      });
    }));
  }
  useEffect(() => {
    asking.current = begin();
    paging.current = null;
    items.value = null;
    void ask("again");
    return () => asking.current.stop.abort();
  }, [question]);
  return {
    items: items.value,
    problem: problem.value,
    hasMore: cursor.value !== null,
    // Pressed twice it is one page.
    more: () => {
      // It may be of another question by then.
      const page = (paging.current ??= ask("more").finally(() => {
        if (paging.current === page) paging.current = null;
      }));
      return page;
    },
    again: () => ask("again"),
  };
}

/** @template T @typedef {{items: T[] | null, problem: Problem | null, hasMore: boolean, more: () => Promise<void>, again: () => Promise<void>}} Listed */

/**
 * @param {AbortSignal} cancelled
 * @param {import("../vendor/preact.js").Signal<Problem | null>} problem
 * @param {() => Promise<void>} ask
 */
async function kept(cancelled, problem, ask) {
  try {
    await ask();
    if (!cancelled.aborted) problem.value = null;
  } catch (error) {
    if (cancelled.aborted) return;
    if (!(error instanceof Problem)) throw error;
    problem.value = error;
  }
}

/**
 * Asks again now and then while something is on its way whose end the feed does not tell.
 * @param {boolean} isOnItsWay
 * @param {() => void} again
 */
export function useOnItsWay(isOnItsWay, again) {
  const newest = useRef(again);
  newest.current = again;
  useEffect(() => {
    if (!isOnItsWay) return;
    const timer = setInterval(() => newest.current(), ON_ITS_WAY_MS);
    return () => clearInterval(timer);
  }, [isOnItsWay]);
}

/**
 * Asks again when the feed tells of something that matters, and after a gap in it.
 * @param {(event: Wire.Event) => boolean} matters
 * @param {() => void} again
 */
export function useHeard(matters, again) {
  // The newest of both: what is heard later belongs to what is shown then.
  const now = useRef({ matters, again });
  now.current = { matters, again };
  useEffect(() => {
    let due = 0;
    const soon = () => {
      if (!due) due = window.setTimeout(() => {
        due = 0;
        now.current.again();
      }, AGAIN_MS);
    };
    // What is shown has just been asked for: the first call says nothing new.
    let isBegun = false;
    const ends = [
      hear((event) => now.current.matters(event) && soon()),
      keepLoaded(() => isBegun && soon()),
      () => clearTimeout(due),
    ];
    isBegun = true;
    return () => ends.forEach((end) => end());
  }, []);
}
