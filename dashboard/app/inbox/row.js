// One conversation in the list: who, when, what was said last, and whether it waits for a person.

import { html } from "../vendor/preact.js";
import { conversation, filter, needsPerson } from "../state/conversations.js";
import { inboxAt } from "../state/filter.js";
import { isUnsent } from "../state/owed.js";
import { serverNow } from "../wire/server_time.js";
import { Avatar } from "../parts/avatar.js";
import { Icon } from "../parts/icon.js";
import { memo } from "../parts/memo.js";
import { minute } from "../parts/now.js";
import { lately, moment, number, span, t, word } from "../words/index.js";
import { ModeSign } from "./mode_sign.js";
import { authorName, contactName } from "./names.js";
import { hits, summary } from "./summary.js";

/** @import * as Wire from "../../types/wire.js" */

/** As high as each row is, whatever stands in it, where letters are as large as browsers have them. */
const ROW_PX = 72;
const LETTERS_PX = 16;

/** The same where they are set larger, as its words are. The style sheet takes it from here. */
export const rowHeight = () => Math.round((ROW_PX * (parseFloat(getComputedStyle(document.documentElement).fontSize) || LETTERS_PX)) / LETTERS_PX);

/** Rows move far more often than they change: one that did not change is not drawn again. */
export const Row = memo(function Row(/** @type {{id: string, isOpen: boolean, isSelected: boolean, canTab: boolean, onSelect: (id: string) => void}} */ { id, isOpen, isSelected, canTab, onSelect }) {
  const it = conversation(id).value;
  const { q } = filter.value;
  return it && html`<a href=${hrefOf(it)} data-within data-row=${id} class="row ${isOpen ? "is-open" : ""} ${isSelected ? "is-selected" : ""} ${it.unread > 0 ? "is-unread" : ""}"
      aria-current=${isOpen ? "true" : undefined} tabindex=${canTab ? 0 : -1} onFocus=${() => onSelect(id)}>
  <span class="row-face"><${Avatar} name=${it.contact.name} chat=${it.chat_id} /><${ModeSign} of=${it} /></span>
    <span class="row-name"><span dir="auto">${contactName(it)}</span>${it.status !== "open" && html`<small class="tag">${word("status", it.status)}</small>`}</span>
    <${When} it=${it} />
    <span class="row-says">
      ${isUnsent(id) && html`<span class="tag is-bad"><${Icon} name="alert" />${t("row.unsent")}</span>`}
      ${it.attention && html`<span class="tag is-bad">${word("attention.short", it.attention.reason)}</span>`}
      <${Preview} it=${it} q=${q} />
    </span>
    ${it.unread > 0 && html`<span class="badge row-unread"><span aria-hidden="true">${number(it.unread)}</span><span class="unseen">${t("row.unread", { count: it.unread })}</span></span>`}
  </a>`;
});

/** A search opens what it found. @param {Wire.Conversation} it */
export const hrefOf = (it) => inboxAt(filter.peek(), it.id, filter.peek().q ? it.match?.seq : null);

/** When it waits for a person: since when; else when it was written to last. @param {{it: Wire.Conversation}} props */
export function When({ it }) {
  // Whoever needs a person because they wait has waited before that was found.
  const [since] = [it.attention?.since, it.waiting_since].filter((at) => typeof at === "string").sort();
  if (needsPerson(it) && since) {
    const waits = span(Math.max(0, Math.max(minute.value, serverNow()) - Date.parse(since)));
    return html`<span class="row-when is-waiting" title=${t("row.waits_since", { at: moment(since) })}>
      <${Icon} name="clock" /><span class="unseen">${t("row.waits")}</span><time datetime=${since}>${waits}</time>
    </span>`;
  }
  const last = it.last_message?.at ?? it.created_at;
  return html`<time class="row-when" datetime=${last} title=${moment(last)}>${lately(last)}</time>`;
}

/** @param {{it: Wire.Conversation, q: string}} props */
function Preview({ it, q }) {
  const found = q && it.match?.snippet;
  if (found) return html`<span class="row-preview" dir="auto">${hits(found, q).map(({ text, isHit }) => (isHit ? html`<mark>${text}</mark>` : text))}</span>`;
  const last = it.last_message;
  if (!last) return html`<span class="row-preview" dir="auto">${t("row.nothing")}</span>`;
  const { kind, text } = summary(last);
  const isGone = last.delivery?.state === "cancelled";
  return html`<span dir="auto" class="row-preview ${isGone ? "is-cancelled" : ""}">
    <${Writer} of=${last} />${last.kind === "note" && html`<${Icon} name="note" label=${t("row.note")} />`}${kind && kind !== "note" && word("kind", kind)}${kind && kind !== "note" && text && ": "}${text}
  </span>`;
}

/** A small sign of who of our side wrote it. @param {{of: Wire.Message}} props */
function Writer({ of }) {
  if (of.kind === "note" || of.author === "contact") return null;
  if (of.author === "assistant") return html`<span class="is-ai"><${Icon} name="spark" label=${t("row.by_ai")} /></span>`;
  if (of.origin === "phone") return html`<${Icon} name="phone" label=${t("row.by_phone")} />`;
  if (of.author === "system") return html`<${Icon} name="bolt" label=${t("row.by_system")} />`;
  // Beside the words it does not say in which direction they run.
  return html`<b dir="auto">${authorName(of)}: </b>`;
}
