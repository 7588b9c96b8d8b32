// In place of the field, where the conversation goes on in another one: the way there, with what was being written.

import { html } from "../vendor/preact.js";
import { filter } from "../state/conversations.js";
import { inboxAt } from "../state/filter.js";
import { t } from "../words/index.js";
import { clear, deskOf, put } from "./desk.js";

/** @param {{from: string, to: string}} props */
export function Merged({ from, to }) {
  function carry() {
    const { text, isNote, file } = deskOf(from).peek();
    if (text.trim() || file) put(to, { text, isNote, file });
    clear(from);
  }
  return html`<div class="composer merged" role="note">
    <p class="hint">${t("thread.merged")}</p>
    <a class="button" href=${inboxAt(filter.value, to)} data-within onClick=${carry}>${t("thread.merged_open")}</a>
  </div>`;
}
