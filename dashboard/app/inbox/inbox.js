// The inbox: conversations, the thread of the one that is open, and what is known beside it.

import { html } from "../vendor/preact.js";
import { list } from "../state/conversations.js";

export function Inbox() {
  return html`<p>${list.value.length}</p>`;
}
