// The same conversation as an agent has it: the inbox's own pane, with its mode control and its keys.

import { html, useEffect } from "../vendor/preact.js";
import { t } from "../words/index.js";
import { Pane } from "../inbox/inbox.js";
import { opened, show } from "../inbox/opened.js";

/** @import { Contact } from "./contacts.js" */

/** @param {{contact: Contact}} props */
export function Agent({ contact }) {
  const id = contact.conversation;
  useEffect(() => {
    show(id);
    return () => show(null);
  }, [id]);
  const open = opened.value;
  if (!id) return html`<div class="empty">
    <h2>${t("play.agent_none")}</h2>
    <p>${t("play.agent_none_hint", { name: contact.name })}</p>
  </div>`;
  return open?.id === id ? html`<${Pane} key=${id} open=${open} />` : html`<p class="waiting" role="status">${t("loading")}</p>`;
}
