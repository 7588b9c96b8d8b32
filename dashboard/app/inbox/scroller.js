// Where one stands in the thread: at the end, where one stays while it grows; or further up, where nothing moves by itself.

import { useLayoutEffect, useRef, useSignal } from "../vendor/preact.js";

/** So near to the end counts as being there. */
const END_PX = 48;
/** So near to an edge the next page is asked for. */
const EDGE_PX = 600;

/**
 * @param {any[]} drawn whatever, when it changes, may have changed what is drawn
 * @param {{onTop: () => void, onEnd: () => void}} edges called near either edge
 */
export function useScroller(drawn, edges) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const isAtEnd = useSignal(true);
  const isStuck = useRef(true);
  const anchor = useRef(/** @type {{line: Element, top: number} | null} */ (null));
  const now = useRef(edges);
  now.current = edges;

  /** Remembers what stands at the top of the view, so that it can be put back there. */
  function remember() {
    const shown = box.current;
    const lines = shown?.firstElementChild?.children;
    if (!shown || !lines) return;
    const top = shown.scrollTop;
    // The lines stand one below the other: the first that reaches into view is found by halving.
    let [low, high] = [0, lines.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      const line = /** @type {HTMLElement} */ (lines[middle]);
      if (line.offsetTop + line.offsetHeight > top) high = middle;
      else low = middle + 1;
    }
    const line = /** @type {HTMLElement | undefined} */ (lines[low]);
    anchor.current = line ? { line, top: line.offsetTop - top } : null;
  }
  function look() {
    const shown = box.current;
    if (!shown) return;
    const left = shown.scrollHeight - shown.scrollTop - shown.clientHeight;
    isAtEnd.value = left < END_PX;
    isStuck.current = left < END_PX;
    remember();
    if (shown.scrollTop < EDGE_PX) now.current.onTop();
    if (left < EDGE_PX) now.current.onEnd();
  }
  function settle() {
    const shown = box.current;
    if (!shown) return;
    if (isStuck.current) {
      shown.scrollTop = shown.scrollHeight;
    } else if (anchor.current?.line.isConnected) {
      const moved = /** @type {HTMLElement} */ (anchor.current.line).offsetTop - shown.scrollTop - anchor.current.top;
      if (moved !== 0) shown.scrollTop += moved;
    }
    remember();
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
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }
  /** Something else is to be looked at: the end no longer holds us. */
  function letGo() {
    isStuck.current = false;
  }
  return { box, isAtEnd, look, toEnd, letGo };
}
