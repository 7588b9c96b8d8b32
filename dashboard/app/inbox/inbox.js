// The inbox: conversations, the thread of the one that is open, and what is known beside it.

import { html, useEffect, useMemo, useRef, useSignal } from "../vendor/preact.js";
import { conversation, filter } from "../state/conversations.js";
import { inboxAt } from "../state/filter.js";
import { route } from "../state/route.js";
import { mayAct } from "../state/session.js";
import { hasFiles } from "../parts/dropped.js";
import { Icon } from "../parts/icon.js";
import { closes, useKeys } from "../parts/keys.js";
import { problemText, say } from "../parts/toast.js";
import { t } from "../words/index.js";
import { close } from "./acts.js";
import { Composer } from "./composer.js";
import { Context } from "./context.js";
import { isTold } from "./decisions.js";
import { lay, putBack, turnToContact } from "./desk.js";
import { Draft, SuggestNow } from "./drafts.js";
import { Head } from "./head.js";
import { List } from "./list.js";
import { Merged } from "./merged.js";
import { Mode } from "./mode.js";
import { takesMessages } from "./names.js";
import { followAddress, leaveUnread, opened } from "./opened.js";
import { Thread } from "./thread.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Opened } from "./opened.js" */
/** @import { Owed } from "../state/owed.js" */

const ROOM_FOR_ASIDE = matchMedia("(min-width: 1200px)");
const ONE_PANE = matchMedia("(max-width: 720px)");

export function Inbox() {
  useEffect(followAddress, []);
  const open = opened.value;
  const isOpen = route.value.id !== null;
  useFocus(route.value.id);
  return html`<div class="inbox ${isOpen ? "has-thread" : ""}">
    <h1 class="unseen">${t("nav.inbox")}</h1>
    <${List} />
    ${open ? html`<${Pane} key=${open.id} open=${open} />` : html`<section class="thread is-none"><p class="empty"><${Icon} name="inbox" />${isOpen ? t("loading") : t("thread.none")}</p></section>`}
  </div>`;
}

/**
 * Where one pane is seen at a time, the focus goes with what is seen: to the thread's title, and back to the row one came from.
 * @param {string | null} id
 */
function useFocus(id) {
  const before = useRef(id);
  useEffect(() => {
    const came = before.current;
    before.current = id;
    if (came === id || !ONE_PANE.matches) return;
    requestAnimationFrame(() => {
      const to = id ? document.getElementById("thread-title") : document.querySelector(`[data-row="${CSS.escape(came ?? "")}"]`);
      if (to instanceof HTMLElement) to.focus();
    });
  }, [id]);
}

/** The thread with all that belongs to it: also for the playground, which shows it beside the phone. @param {{open: Opened}} props */
export function Pane({ open }) {
  const it = conversation(open.id).value;
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  /** What the composer does with files, where there is one. @type {{current: ((files: FileList | undefined, event: Event) => void) | null}} */
  const takes = useRef(null);
  const isAside = useSignal(false);
  const about = useSignal(/** @type {Wire.Message | null} */ (null));
  // The same object for as long as the thread is open: bubbles are drawn anew when it changes.
  const acts = useMemo(() => ({
    onQuote: (/** @type {Wire.Message} */ one) => reply({ quoted: one }),
    onWhy: (/** @type {Wire.Message} */ one) => {
      about.value = one;
      isAside.value = true;
    },
  }), []);

  /** Into the field, as it is changed. @param {Partial<import("./desk.js").Desk>} [change] */
  function write(change = {}) {
    lay(open.id, change);
    // At once, for the next key; and again when what was put there has been drawn.
    const focused = field.current;
    focused?.focus();
    const has = document.activeElement === focused;
    requestAnimationFrame(() => {
      // Whoever has left it meanwhile, with Escape, is not brought back: the next key is for the page.
      if (has && focused?.isConnected && document.activeElement === document.body) return;
      const end = field.current?.value.length ?? 0;
      field.current?.focus();
      field.current?.setSelectionRange(end, end);
    });
  }
  /** The same, for the contact. @param {Partial<import("./desk.js").Desk>} [change] */
  function reply(change) {
    if (!turnToContact(open.id, change)) say(t("composer.note_stands"));
    write();
  }
  /** The thread is where one lets them go, and not only the small field below it. @param {DragEvent} event */
  function dragged(event) {
    const isOver = event.target instanceof Element && event.target.closest("dialog");
    if (!takes.current || isOver || event.defaultPrevented || !hasFiles(event)) return;
    event.preventDefault();
    if (event.type === "drop") takes.current(event.dataTransfer?.files, event);
  }
  const events = useMemo(() => open.decisions.events.value.filter(isTold).reverse(), [open.decisions.events.value]);
  // Where newer ones are not loaded, the last that is shown is not what they said last.
  const newestOfContact = () => open.thread.hasNewer.peek() ? null : open.thread.ordered.peek().findLast((one) => one.author === "contact" && one.provider_message_id && one.kind !== "reaction" && !one.deleted_at) ?? null;
  useKeys([
    { key: "r", words: t("keys.reply"), run: () => reply() },
    { key: "R", words: t("keys.quote"), run: () => reply({ quoted: newestOfContact() }) },
    { key: "n", words: t("keys.note"), run: () => write({ isNote: true }) },
    { key: "e", words: t("keys.close"), run: () => it && mayAct() && void close(it) },
  ], [it]);
  if (!it) return html`<${Missing} open=${open} />`;
  return html`
    <section class="thread" aria-labelledby="thread-title" onDragOver=${dragged} onDrop=${dragged}>
      <${Head} it=${it} live=${open.live} isAside=${isAside.value} onAside=${() => (isAside.value = !isAside.peek())} onUnread=${() => leaveUnread(open)} />
      ${!it.merged_into && html`<${Mode} it=${it} />`}
      <${Thread} open=${open} it=${it} events=${events} acts=${acts} onReply=${() => reply()}
        onEdit=${(/** @type {Owed} */ one) => (open.thread.forget(one), putBack(open.id, one), write())} />
      <${Draft} it=${it} open=${open} field=${field} onEdit=${() => write()} />
      <${Foot} it=${it} open=${open} field=${field} takes=${takes} />
    </section>
    <${Aside} isOpen=${isAside.value} onClose=${() => (isAside.value = false)}><${Context} it=${it} open=${open} about=${about.value} onAll=${() => (about.value = null)} /></${Aside}>`;
}

/** Where one writes, or why nobody does here. @param {{it: Wire.Conversation, open: Opened, field: any, takes: any}} props */
export function Foot({ it, open, field, takes }) {
  if (it.merged_into) return html`<${Merged} from=${it.id} to=${it.merged_into} />`;
  if (!takesMessages(it)) return html`<p class="composer hint">${t("composer.nobody")}</p>`;
  if (!mayAct()) return html`<p class="composer hint">${t("composer.may_not")}</p>`;
  return html`<${Composer} it=${it} open=${open} field=${field} takes=${takes} tools=${html`<${SuggestNow} open=${open} />`} />`;
}

/** Beside the thread where there is room; else drawn over it. @param {{isOpen: boolean, onClose: () => void, children?: any}} props */
function Aside({ isOpen, onClose, children }) {
  const pane = useRef(/** @type {HTMLElement | null} */ (null));
  // Where it lies over the thread, it is made only once it is opened.
  const isMade = useSignal(ROOM_FOR_ASIDE.matches);
  useEffect(() => {
    const look = () => (isMade.value ||= ROOM_FOR_ASIDE.matches);
    ROOM_FOR_ASIDE.addEventListener("change", look);
    return () => ROOM_FOR_ASIDE.removeEventListener("change", look);
  }, []);
  if (isOpen) isMade.value = true;
  const came = useRef(/** @type {Element | null} */ (null));
  useEffect(() => {
    if (!pane.current || getComputedStyle(pane.current).position === "relative") return;
    if (isOpen) {
      came.current = document.activeElement;
      pane.current.querySelector("button")?.focus();
    } else if (came.current instanceof HTMLElement && pane.current.contains(document.activeElement)) came.current.focus();
  }, [isOpen]);
  return html`<aside id="context" ref=${pane} class="context ${isOpen ? "is-open" : ""}" aria-label=${t("context")}
      onKeyDown=${(/** @type {KeyboardEvent} */ event) => closes(event) && onClose()}>
    <button type="button" class="bare context-close" onClick=${onClose} aria-label=${t("close")}><${Icon} name="close" /></button>
    ${isMade.value && children}
  </aside>`;
}

/** It is being loaded, or cannot be. @param {{open: Opened}} props */
function Missing({ open }) {
  const problem = open.problem.value;
  return html`<section class="thread is-none">
    ${!problem ? html`<p class="empty" role="status">${t("loading")}</p>`
    : html`<div class="empty" role="alert">
        <p>${problem.code === "erased" ? t("thread.erased") : problem.isNotThere ? t("thread.not_found") : problemText(problem)}</p>
        ${problem.isNotThere ? html`<a class="button" href=${inboxAt(filter.value)} data-within>${t("thread.back")}</a>` : html`<button type="button" onClick=${() => void open.look()}>${t("retry")}</button>`}
      </div>`}
  </section>`;
}
