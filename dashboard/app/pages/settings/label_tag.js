// A label as it is shown everywhere: its name in ink, its colour in a dot, so that any colour can be read.

import { html } from "../../vendor/preact.js";

/** @param {{name: string, colour?: string | null}} props */
export function LabelTag({ name, colour }) {
  return html`<span class="tag label-tag"><span class="dot" aria-hidden="true" style=${{ "--dot": colour ?? "var(--line-strong)" }}></span>${name}</span>`;
}
