// Canned replies: found by a slash and some letters, chosen with the arrow keys, filled in with what is known.

import { html, useEffect, useRef } from "../vendor/preact.js";
import { t } from "../words/index.js";

/** @import * as Wire from "../../types/wire.js" */

/** So many are shown: who looks for another types one letter more. */
export const SHOWN = 8;

/** @param {number} at */
export const optionId = (at) => `canned-${at}`;

/** @param {{found: Wire.CannedReply[], at: number, preview: (it: Wire.CannedReply) => string, onChoose: (it: Wire.CannedReply) => void}} props */
export function Canned({ found, at, preview, onChoose }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => list.current?.children[at]?.scrollIntoView({ block: "nearest" }), [at]);
  if (found.length === 0) return html`<p class="canned is-none">${t("canned.none")} <a href="/settings/canned-replies" data-within>${t("canned.manage")}</a></p>`;
  return html`<ul id="canned" class="canned" role="listbox" aria-label=${t("canned")} ref=${list}>
    ${found.map((it, index) => html`<li key=${it.id} id=${optionId(index)} role="option" aria-selected=${index === at}
        onPointerDown=${(/** @type {Event} */ event) => event.preventDefault()} onClick=${() => onChoose(it)}>
      <b>/${it.shortcut}</b><span dir="auto">${preview(it)}</span>
    </li>`)}
  </ul>`;
}
