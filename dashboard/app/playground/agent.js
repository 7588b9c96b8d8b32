// The same conversation as an agent has it: the inbox's own pane, with its mode control and its keys.

import { html } from "../vendor/preact.js";
import { t } from "../words/index.js";

/** @import { Contact } from "./contacts.js" */

/** @param {{contact: Contact}} props */
export function Agent({ contact }) {
  return html`<div class="empty">
    <h2>${t("play.agent_none")}</h2>
    <p>${t("play.agent_none_hint", { name: contact.name })}</p>
  </div>`;
}
