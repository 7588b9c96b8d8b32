// Where an admin asks for a person to be erased. What asks whether that is meant is loaded by who asks.

import { html, useSignal } from "../vendor/preact.js";
import { say } from "../parts/toast.js";
import { t } from "../words/index.js";

/** @import * as Wire from "../../types/wire.js" */

/** @param {{it: Wire.Conversation}} props */
export function Erase({ it }) {
  const Ask = useSignal(/** @type {typeof import("../pages/erase.js").Ask | null} */ (null));
  async function ask() {
    try {
      Ask.value = (await import("../pages/erase.js")).Ask;
    } catch (error) {
      // A file that does not come is a server that is away. A fault inside the file is ours, and is to be seen.
      if (!(error instanceof TypeError)) throw error;
      say(t("page.not_fetched"));
    }
  }
  return html`<section class="context-part">
    <button type="button" class="is-danger" onClick=${() => void ask()}>${t("erase")}</button>
    ${Ask.value && html`<${Ask.value} it=${it} onClose=${() => (Ask.value = null)} />`}
  </section>`;
}
