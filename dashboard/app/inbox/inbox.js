// The inbox: conversations, the thread of the one that is open, and what is known beside it.

import { html, useEffect, useSignal } from "../vendor/preact.js";
import { conversation } from "../state/conversations.js";
import { route } from "../state/route.js";
import { Icon } from "../parts/icon.js";
import { problemText } from "../parts/toast.js";
import { t } from "../words/index.js";
import { Context } from "./context.js";
import { Head } from "./head.js";
import { List } from "./list.js";
import { Mode } from "./mode.js";
import { followSettling } from "./modes.js";
import { followAddress, opened } from "./opened.js";
import { Thread } from "./thread.js";

/** @import { Opened } from "./opened.js" */

export function Inbox() {
  useEffect(() => {
    const ends = [followAddress(), followSettling()];
    return () => ends.forEach((end) => end());
  }, []);
  const open = opened.value;
  const isOpen = route.value.id !== null;
  return html`<div class="inbox ${isOpen ? "has-thread" : ""}">
    <${List} />
    ${open ? html`<${Pane} key=${open.id} open=${open} />` : html`<section class="thread is-none"><p class="empty"><${Icon} name="inbox" />${isOpen ? t("loading") : t("thread.none")}</p></section>`}
  </div>`;
}

/** @param {{open: Opened}} props */
function Pane({ open }) {
  const it = conversation(open.id).value;
  const isAside = useSignal(false);
  const isKeptUnread = useSignal(false);
  if (!it) return html`<${Missing} open=${open} />`;
  const acts = { onQuote: () => {}, onWhy: () => {} };
  return html`
    <section class="thread" aria-labelledby="thread-title">
      <${Head} it=${it} live=${open.live} isAside=${isAside.value} onAside=${() => (isAside.value = !isAside.peek())} onUnread=${() => (isKeptUnread.value = true)} />
      <${Mode} it=${it} />
      <${Thread} open=${open} it=${it} events=${[]} acts=${acts} isKeptUnread=${isKeptUnread.value} onReply=${() => {}} onEdit=${() => {}} />
    </section>
    <${Aside} isOpen=${isAside.value} onClose=${() => (isAside.value = false)}><${Context} it=${it} thread=${open.thread} /></${Aside}>`;
}

/** Beside the thread where there is room; else drawn over it. @param {{isOpen: boolean, onClose: () => void, children?: any}} props */
function Aside({ isOpen, onClose, children }) {
  return html`<aside id="context" class="context ${isOpen ? "is-open" : ""}" aria-label=${t("context")}
      onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && !event.defaultPrevented && onClose()}>
    <button type="button" class="bare context-close" onClick=${onClose} aria-label=${t("close")}><${Icon} name="close" /></button>
    ${children}
  </aside>`;
}

/** It is being loaded, or cannot be. @param {{open: Opened}} props */
function Missing({ open }) {
  const problem = open.problem.value;
  return html`<section class="thread is-none">
    ${!problem ? html`<p class="empty" role="status">${t("loading")}</p>`
    : html`<div class="empty" role="alert">
        <p>${problem.status === 404 ? t("thread.not_found") : problemText(problem)}</p>
        ${problem.status === 404 ? html`<a class="button" href="/inbox" data-within>${t("thread.back")}</a>` : html`<button type="button" onClick=${() => void open.look()}>${t("retry")}</button>`}
      </div>`}
  </section>`;
}
