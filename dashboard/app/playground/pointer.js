// A ring around the thing that the tour is about, wherever on the page it lies. It lies over everything and catches nothing.

import { html, useEffect, useSignal } from "../vendor/preact.js";

/** Things move as messages come in; looking is cheap. */
const LOOK_MS = 200;
const ROOM_PX = 4;

/** The first of these that can be seen, since on a phone it may be behind a tab. @param {string[]} selectors */
function find(selectors) {
  for (const selector of selectors) {
    const box = document.querySelector(selector)?.getBoundingClientRect();
    if (box && box.width > 0 && box.height > 0) return box;
  }
  return null;
}

/** A little outside of it, but never outside of the window. @param {DOMRect | null} box */
function around(box) {
  if (!box) return null;
  const left = Math.max(0, Math.round(box.left) - ROOM_PX);
  const top = Math.max(0, Math.round(box.top) - ROOM_PX);
  const right = Math.min(innerWidth, Math.round(box.right) + ROOM_PX);
  const bottom = Math.min(innerHeight, Math.round(box.bottom) + ROOM_PX);
  return { left, top, width: right - left, height: bottom - top };
}

/** @param {{at: string[]}} props selectors, the best first */
export function Pointer({ at }) {
  const place = useSignal(/** @type {ReturnType<typeof around>} */ (null));
  useEffect(() => {
    function look() {
      const next = around(find(at));
      if (JSON.stringify(next) !== JSON.stringify(place.peek())) place.value = next;
    }
    look();
    const timer = setInterval(look, LOOK_MS);
    addEventListener("resize", look);
    document.addEventListener("scroll", look, { capture: true, passive: true });
    return () => {
      clearInterval(timer);
      removeEventListener("resize", look);
      document.removeEventListener("scroll", look, { capture: true });
    };
  }, [at.join()]);
  const it = place.value;
  return it && html`<div class="tour-ring" aria-hidden="true" style=${{
    left: `${it.left}px`, top: `${it.top}px`, width: `${it.width}px`, height: `${it.height}px`,
  }}></div>`;
}
