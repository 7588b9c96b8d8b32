// Keys: each part says which it answers while it is shown; the help lists them all. None fires while somebody types.

import { preferences } from "../state/preferences.js";
import { signal, useLayoutEffect } from "../vendor/preact.js";

/**
 * @typedef {{key: string, words: string, run: (event: KeyboardEvent) => void, whileTyping?: boolean, repeats?: boolean}} Binding
 *   `key` as `nameOf` says it; `mod+k` is Ctrl or Command with k. `repeats`: for as long as it is held
 */

/** The newest first: what lies on top answers before what lies under it. @type {import("../vendor/preact.js").Signal<Binding[]>} */
export const bindings = signal([]);

/** What is held with a key, as it is marked. */
export const MOD = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";

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

/**
 * Whether Escape closes the part that hears of it, and not a dialog or a menu over that, which the browser closes by it.
 * @param {KeyboardEvent} event
 */
export const closes = (event) => event.key === "Escape" && !event.defaultPrevented && !isComposing(event)
  && !(event.target instanceof Element && event.target.closest("dialog, [popover]"));

/**
 * What a key is called: what it writes. Where people write in other letters, a key is the Latin one that it is marked with, too;
 * and with Caps Lock a small letter is still that. A browser that fills in a form tells of keys that have no name.
 * @param {Pick<KeyboardEvent, "key" | "code" | "shiftKey" | "metaKey" | "ctrlKey">} event
 */
export function nameOf({ key = "", code = "", shiftKey, metaKey, ctrlKey }) {
  const isForeign = [...key].length === 1 && !/^[ -~]$/.test(key);
  const letter = isForeign ? /^Key([A-Z])$/.exec(code)?.[1] : /^[a-z]$/i.exec(key)?.[0];
  const name = !letter ? key : shiftKey ? letter.toUpperCase() : letter.toLowerCase();
  return metaKey || ctrlKey ? `mod+${name.toLowerCase()}` : name;
}

document.addEventListener("keydown", (event) => {
  if (isComposing(event) || event.altKey) return;
  // A dialog has the page for itself.
  const isModal = document.querySelector("dialog[open]") !== null;
  const name = nameOf(event);
  const found = bindings.peek().find((binding) => binding.key === name);
  if (!found || (isModal && !found.whileTyping)) return;
  // People who dictate, or hit keys by accident, can switch off the keys that write something.
  if (name.length === 1 && !preferences.peek().keys) return;
  if (isTyping(event.target) && !found.whileTyping) return;
  // A button or link with the focus keeps its own keys.
  if (["Enter", " "].includes(event.key) && event.target instanceof Element && event.target.closest("button, a[href], summary")) return;
  event.preventDefault();
  if (!event.repeat || found.repeats) found.run(event);
});

/**
 * These keys, while the part that calls this is shown, and from the moment that it is: an effect would come a frame later, and
 * until then a key would mean what was shown before.
 * @param {Binding[]} mine
 * @param {any[]} on what they depend on
 */
export function useKeys(mine, on) {
  useLayoutEffect(() => {
    bindings.value = [...mine, ...bindings.peek()];
    return () => {
      bindings.value = bindings.peek().filter((binding) => !mine.includes(binding));
    };
  }, on);
}
