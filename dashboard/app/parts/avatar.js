// A round sign for a contact: the first letters of the name on a colour that is always the same for the same chat.

import { html } from "../vendor/preact.js";

const HUES = 12;

/** @param {string} text */
function hue(text) {
  let sum = 0;
  for (const letter of text) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973;
  return (sum % HUES) * (360 / HUES);
}

/** @param {string} name */
function initials(name) {
  const words = name.trim().split(/\s+/).filter((word) => /\p{L}|\p{N}/u.test(word));
  const letters = [words[0], words.length > 1 ? words.at(-1) : undefined].filter(Boolean);
  return letters.map((word) => [.../** @type {string} */ (word)].find((letter) => /\p{L}|\p{N}/u.test(letter)) ?? "").join("").toUpperCase();
}

/** @param {{name: string | null, chat: string}} props */
export function Avatar({ name, chat }) {
  // The style attribute is closed by our policy; the style object is not.
  return html`<span class="avatar" aria-hidden="true" style=${{ "--hue": hue(chat) }}>${name ? initials(name) : "#"}</span>`;
}
