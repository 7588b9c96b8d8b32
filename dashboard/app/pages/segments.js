// A few places beside each other, of which one is looked at: links, so that the address says which, and going back works.

import { html } from "../vendor/preact.js";

/** @param {{label: string, places: {href: string, words: string, isHere: boolean, count?: string}[]}} props */
export function Segments({ label, places }) {
  return html`<nav class="segments" aria-label=${label}>
    ${places.map(({ href, words, isHere, count }) => html`
      <a key=${href} href=${href} data-within aria-current=${isHere ? "true" : undefined}>${words}${count && html` <span class="badge">${count}</span>`}</a>`)}
  </nav>`;
}
