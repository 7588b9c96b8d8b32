// Where a button goes away by what it does, the focus stays near by, and not with nobody.

import { useLayoutEffect } from "../vendor/preact.js";

/**
 * @param {{current: HTMLElement | null}} box whatever in it has the focus may go away
 * @param {() => Element | null | undefined} to what has it then
 */
export function useKeptFocus(box, to) {
  // Asked before it is drawn anew: afterwards it is gone.
  const had = box.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    if (!had || document.activeElement !== document.body) return;
    const next = to();
    if (next instanceof HTMLElement) next.focus();
  });
}
