// A long list of rows of one height, of which only those in view exist. When rows move above, what is in view stays put.

import { html, useLayoutEffect, useRef, useSignal } from "../vendor/preact.js";

/** Rows drawn beyond what is in view, on either side. */
const BEYOND = 8;

/**
 * @typedef {{show: (at: number) => void, isAtTop: () => boolean}} Hands what others may do with it
 * @param {{
 *   ids: string[], height: number, label: string, pinned: number, reset: any, hands: {current: Hands | null},
 *   row: (id: string, at: number) => any, onNearEnd: () => void, children?: any,
 * }} props
 *   `pinned` is a row that exists wherever it is, since it may have the focus; another `reset` begins at the top;
 *   `children` stand after the last row
 */
export function Virtual({ ids, height, label, pinned, reset, hands, row, onNearEnd, children }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const first = useSignal(0);
  const count = useSignal(2 * BEYOND);
  const stood = useRef(ids);
  // What is asked of the browser right after a change makes it lay the page out then and there: it is remembered instead.
  const view = useRef({ top: 0, height: 0 });

  function look() {
    const { top, height: seen } = view.current;
    // In steps of a few rows: not every wheel tick draws anew.
    first.value = Math.max(0, Math.floor(top / height / 4) * 4 - BEYOND);
    count.value = Math.ceil(seen / height) + 2 * BEYOND + 4;
    if (ids.length * height - top - seen < 10 * height) onNearEnd();
  }
  /** @param {number} top */
  function scrollTo(top) {
    view.current.top = top;
    /** @type {HTMLElement} */ (box.current).scrollTop = top;
  }
  function scrolled() {
    view.current.top = /** @type {HTMLElement} */ (box.current).scrollTop;
    look();
  }
  const now = useRef(look);
  now.current = look;
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(([{ contentRect }]) => {
      view.current.height = contentRect.height;
      now.current();
    });
    watcher.observe(/** @type {HTMLElement} */ (box.current));
    return () => watcher.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (view.current.top > 0) scrollTo(0);
    stood.current = ids;
    look();
  }, [reset]);
  useLayoutEffect(() => {
    const { top, height: seen } = view.current;
    const moved = shift(stood.current, ids, Math.ceil(top / height), Math.ceil(seen / height));
    stood.current = ids;
    // At the top one wants to see what is new; further down, to go on reading.
    if (top >= height / 2 && moved !== 0) scrollTo(top + moved * height);
    look();
  }, [ids]);

  hands.current = {
    show(at) {
      const { top, height: seen } = view.current;
      if (at * height < top) scrollTo(at * height);
      else if ((at + 1) * height > top + seen) scrollTo((at + 1) * height - seen);
    },
    isAtTop: () => view.current.top < height,
  };

  const last = Math.min(ids.length, first.value + count.value);
  const drawn = [];
  for (let at = Math.min(first.value, last); at < last; at++) drawn.push(at);
  if (pinned >= 0 && pinned < ids.length && !drawn.includes(pinned)) drawn[pinned < first.value ? "unshift" : "push"](pinned);
  return html`<div class="virtual" ref=${box} onScroll=${scrolled}>
    <ul role="list" aria-label=${label} style=${{ height: `${ids.length * height}px` }}>
      ${drawn.map((at) => html`<li key=${ids[at]} aria-setsize=${ids.length} aria-posinset=${at + 1} style=${{ transform: `translateY(${at * height}px)`, height: `${height}px` }}>
        ${row(ids[at], at)}
      </li>`)}
    </ul>
    ${children}
  </div>`;
}

/**
 * By how many rows what is in view has moved: the middle of them all, since one that jumps says nothing of the others.
 * @param {string[]} before @param {string[]} after @param {number} from @param {number} rows
 */
export function shift(before, after, from, rows) {
  if (before === after || from >= before.length) return 0;
  const inView = before.slice(from, from + rows);
  const wanted = new Set(inView);
  const now = new Map();
  for (let at = 0; at < after.length && now.size < wanted.size; at++) if (wanted.has(after[at])) now.set(after[at], at);
  const moves = inView.flatMap((id, at) => (now.has(id) ? [now.get(id) - (from + at)] : [])).sort((a, b) => a - b);
  return moves[Math.floor(moves.length / 2)] ?? 0;
}
