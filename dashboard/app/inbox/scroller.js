// Where one stands in the thread: at the end, where one stays while it grows; or further up, where nothing moves by itself.

import { useLayoutEffect, useRef, useSignal } from "../vendor/preact.js";

/** So near to the end counts as being there. */
const END_PX = 48;
/** So near to an edge the next page is asked for. */
const EDGE_PX = 600;
/** What stays what it is, whatever is loaded around it. */
const MESSAGE = "[id^=message-]";

/**
 * @param {any[]} drawn whatever, when it changes, may have changed what is drawn
 * @param {{onTop: () => void, onEnd: () => void, isEnd: boolean}} edges called near either edge; `isEnd`: what is drawn last is the newest
 */
export function useScroller(drawn, edges) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const isAtEnd = useSignal(true);
  const isStuck = useRef(true);
  /** `newest` is the last message in the line, `bottom` where the line ends in the view. */
  const anchor = useRef(/** @type {{line: HTMLElement, top: number, newest: string | null, bottom: number} | null} */ (null));
  /** Where we left it: if it stands elsewhere, somebody has scrolled, and the event that says so is still to come. */
  const left = useRef(0);
  const now = useRef(edges);
  now.current = edges;

  /** Remembers what stands at the top of the view, so that it can be put back there. */
  function remember() {
    const shown = box.current;
    const lines = shown?.firstElementChild?.children;
    if (!shown || !lines) return;
    const top = (left.current = shown.scrollTop);
    // The lines stand one below the other: the first that reaches into view is found by halving.
    let [low, high] = [0, lines.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      const line = /** @type {HTMLElement} */ (lines[middle]);
      if (line.offsetTop + line.offsetHeight > top) high = middle;
      else low = middle + 1;
    }
    // What tells of days and of what is being loaded goes or stays at the top when older messages come before it.
    while (low < lines.length - 1 && !lines[low].querySelector(MESSAGE)) low += 1;
    const line = /** @type {HTMLElement | undefined} */ (lines[low]);
    if (!line) return void (anchor.current = null);
    const newest = [...line.querySelectorAll(MESSAGE)].at(-1)?.id ?? null;
    anchor.current = { line, top: line.offsetTop - top, newest, bottom: line.offsetTop + line.offsetHeight - top };
  }
  /** How far what was at the top of the view has moved since. @param {HTMLElement} shown */
  function moved(shown) {
    const before = anchor.current;
    if (!before) return 0;
    if (before.line.isConnected) return before.line.offsetTop - shown.scrollTop - before.top;
    // The earlier parts of a reply have come: it is another line, which ends as before.
    const line = before.newest && document.getElementById(before.newest)?.closest("li");
    return line ? line.offsetTop + line.offsetHeight - shown.scrollTop - before.bottom : 0;
  }
  /**
   * Whether it stands where we have left it. What is drawn may have changed since: what is shorter now cannot stand as far down.
   * @param {HTMLElement} shown
   */
  function isAsLeft(shown) {
    const furthest = shown.scrollHeight - shown.clientHeight;
    return shown.scrollTop === left.current || (furthest < left.current && shown.scrollTop > furthest - 1);
  }
  /** @returns {void} */
  function look() {
    const shown = box.current;
    if (!shown) return;
    // That we have put it there, or the browser, is told late: nobody has scrolled.
    if (isAsLeft(shown)) return settle();
    const rest = shown.scrollHeight - shown.scrollTop - shown.clientHeight;
    isAtEnd.value = rest < END_PX;
    isStuck.current = rest < END_PX && now.current.isEnd;
    remember();
    reach(shown);
  }
  /** Asks for what comes next at the edges that are near. @param {HTMLElement} shown */
  function reach(shown) {
    if (shown.scrollTop < EDGE_PX) now.current.onTop();
    if (shown.scrollHeight - shown.scrollTop - shown.clientHeight < EDGE_PX) now.current.onEnd();
  }
  /** @returns {void} */
  function settle() {
    const shown = box.current;
    if (!shown) return;
    if (!isAsLeft(shown)) return look();
    if (isStuck.current && now.current.isEnd) {
      shown.scrollTop = shown.scrollHeight;
    } else {
      const by = moved(shown);
      if (by !== 0) shown.scrollTop += by;
    }
    // What has grown below may have moved the end away from where one stands.
    isAtEnd.value = shown.scrollHeight - shown.scrollTop - shown.clientHeight < END_PX;
    remember();
    // What does not fill the view is never scrolled, nor what stands at its edge already: nobody else asks for what comes next.
    reach(shown);
  }
  useLayoutEffect(settle, drawn);
  useLayoutEffect(() => {
    const shown = /** @type {HTMLElement} */ (box.current);
    // Pictures arrive, the window changes, lines out of view turn out to be higher than thought.
    const watcher = new ResizeObserver(settle);
    watcher.observe(shown);
    if (shown.firstElementChild) watcher.observe(shown.firstElementChild);
    return () => watcher.disconnect();
  }, []);

  function toEnd() {
    isStuck.current = true;
    isAtEnd.value = true;
    if (!box.current) return;
    box.current.scrollTop = box.current.scrollHeight;
    remember();
  }
  /** Something else is to be looked at: the end no longer holds us. @param {number} [top] where it stands */
  function letGo(top) {
    isStuck.current = false;
    if (top === undefined || !box.current) return;
    box.current.scrollTop = top;
    look();
  }
  return { box, isAtEnd, look, toEnd, letGo };
}
