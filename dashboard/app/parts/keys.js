// Keys: each part says which it answers while it is shown; the help lists them all. None fires while somebody types.

import { signal, useEffect } from "../vendor/preact.js";

/**
 * @typedef {{key: string, words: string, run: (event: KeyboardEvent) => void, whileTyping?: boolean}} Binding
 *   `key` as `KeyboardEvent.key`; `mod+k` is Ctrl or Command with k.
 */

/** The newest first: what lies on top answers before what lies under it. @type {import("../vendor/preact.js").Signal<Binding[]>} */
export const bindings = signal([]);

/** Whether a key belongs to what has the focus. @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof HTMLElement
    && (target.isContentEditable || target.matches("input:not([type=checkbox], [type=radio], [type=button]), textarea, select"));
}

/**
 * Whether a key belongs to the input method that somebody writes with, as Chinese and Japanese are. Safari has ended the
 * composition by the time it tells of the key that ends it, and says so only with the old number of such keys.
 * @param {KeyboardEvent} event
 */
export const isComposing = (event) => event.isComposing || event.keyCode === 229;

document.addEventListener("keydown", (event) => {
  if (isComposing(event) || event.altKey) return;
  // A dialog has the page for itself.
  const isModal = document.querySelector("dialog[open]") !== null;
  const isMod = event.metaKey || event.ctrlKey;
  const name = isMod ? `mod+${event.key.toLowerCase()}` : event.key;
  const found = bindings.peek().find((binding) => binding.key === name);
  if (!found || (isModal && !found.whileTyping)) return;
  if (isTyping(event.target) && !found.whileTyping) return;
  // A button or link with the focus keeps its own keys.
  if (["Enter", " "].includes(event.key) && event.target instanceof Element && event.target.closest("button, a[href], summary")) return;
  event.preventDefault();
  found.run(event);
});

/**
 * These keys, while the part that calls this is shown.
 * @param {Binding[]} mine
 * @param {any[]} on what they depend on
 */
export function useKeys(mine, on) {
  useEffect(() => {
    bindings.value = [...mine, ...bindings.peek()];
    return () => {
      bindings.value = bindings.peek().filter((binding) => !mine.includes(binding));
    };
  }, on);
}
