// The way to a conversation, by its contact's name. One that is not known yet is asked for, one after another: a page may
// show many of them.

import { html, signal, useEffect } from "../vendor/preact.js";
import { conversation, filter, load } from "../state/conversations.js";
import { keepLoaded } from "../state/feed.js";
import { inboxAt } from "../state/filter.js";
import { Problem } from "../wire/api.js";
import { t } from "../words/index.js";
import { Icon } from "../parts/icon.js";

/** Those that are no longer there: erased, or on channels that are not shown to us. */
const gone = signal(/** @type {Set<string>} */ (new Set()));
// What may be seen may be more by now.
keepLoaded(() => (gone.value = new Set()));
let last = Promise.resolve();

/** @param {string} id */
export function bring(id) {
  if (conversation(id).peek() || gone.peek().has(id)) return;
  last = last.then(async () => {
    if (conversation(id).peek()) return;
    try {
      await load(id);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.isNotThere) gone.value = new Set([...gone.peek(), id]);
    }
  });
}

/** @param {{id: string}} props */
export function ConversationLink({ id }) {
  const isGone = gone.value.has(id);
  useEffect(() => bring(id), [id, isGone]);
  const it = conversation(id).value;
  if (isGone && !it) return html`<span class="soft">${t("conversation.gone")}</span>`;
  return html`<a class="conversation-link" href=${inboxAt(filter.value, id)} data-within>
    <${Icon} name="person" /><span>${it ? it.contact.name || it.contact.phone || it.chat_id : t("conversation.open")}</span>
  </a>`;
}
