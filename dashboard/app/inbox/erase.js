// Where an admin asks for a person to be erased. What asks whether that is meant is loaded by who asks.

import { html, useSignal } from "../vendor/preact.js";
import { fetchLate } from "../parts/fetching.js";
import { warn } from "../parts/toast.js";
import { t } from "../words/index.js";

/** @import * as Wire from "../../types/wire.js" */

/** @param {{it: Wire.Conversation}} props */
export function Erase({ it }) {
  const Ask = useSignal(/** @type {typeof import("../pages/erase.js").Ask | null} */ (null));
  async function ask() {
    const found = await fetchLate(() => import("../pages/erase.js"));
    if (found) Ask.value = found.Ask;
    else warn(t("page.not_fetched"), { label: t("retry"), run: () => location.reload() });
  }
  return html`<section class="context-part">
    <button type="button" class="is-danger" onClick=${() => void ask()}>${t("erase")}</button>
    ${Ask.value && html`<${Ask.value} it=${it} onClose=${() => (Ask.value = null)} />`}
  </section>`;
}
