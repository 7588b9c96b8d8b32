// Above the field: what the AI suggests. It goes out only by a person's hand, and goes away when it is of no use any more.

import { html, useRef } from "../vendor/preact.js";
import { mayAct } from "../state/session.js";
import { Icon } from "../parts/icon.js";
import { useKeptFocus } from "../parts/kept_focus.js";
import { useKeys } from "../parts/keys.js";
import { say } from "../parts/toast.js";
import { lately, moment, t } from "../words/index.js";
import { Takes } from "./composer.js";
import { takeUp } from "./desk.js";
import { seeThrough } from "./saying.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Opened } from "./opened.js" */

/** @param {{it: Wire.Conversation, open: Opened, field: {current: HTMLElement | null}, onEdit: () => void}} props */
export function Draft({ it, open, field, onEdit }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useKeptFocus(box, () => field.current);
  const { suggestions, thread } = open;
  const draft = suggestions.fresh.value;
  const isUsed = thread.owed.value.some((one) => one.draft?.id === draft?.id);

  /** Into the field: what goes out has been seen there. */
  function edit() {
    if (!draft) return;
    if (!takeUp(it.id, { id: draft.id, text: draft.text })) say(t("composer.note_stands"));
    onEdit();
  }
  function use() {
    if (!draft) return;
    void seeThrough(it.id, thread.say({ kind: "draft", text: draft.text, draft: { id: draft.id, text: draft.text }, quoted: null, file: null }));
  }
  // No single key sends what nobody has read: this one puts it where it is read.
  useKeys([{ key: "u", words: t("keys.use_draft"), run: edit }], [draft, it.id]);
  if (!mayAct() || isUsed) return null;
  if (!draft) return suggestions.isAsked.value && html`<section class="draft is-asked" role="status"><p><${Icon} name="pen" />${t("draft.asked")}</p></section>`;
  return html`<section class="draft" ref=${box} aria-label=${t("draft")}>
    <header><${Icon} name="pen" /><b>${t("draft")}</b><time datetime=${draft.created_at} title=${moment(draft.created_at)}>${lately(draft.created_at)}</time></header>
    <p class="says" dir="auto">${draft.text}</p>
    <${Takes} it=${it} />
    <footer>
      <button type="button" class="is-primary" onClick=${use}><${Icon} name="send" />${t("draft.use")}</button>
      <button type="button" aria-keyshortcuts="u" onClick=${edit}><${Icon} name="pen" />${t("draft.edit")}<kbd aria-hidden="true">u</kbd></button>
      <button type="button" onClick=${() => void suggestions.discard(draft)}><${Icon} name="trash" />${t("draft.discard")}</button>
    </footer>
  </section>`;
}

/** Asks for a suggestion now. The focus stays: the key that takes it up is none where somebody types. @param {{open: Opened}} props */
export function SuggestNow({ open }) {
  const { suggestions } = open;
  if (!suggestions.isThere.value) return null;
  return html`<button type="button" class="bare" disabled=${suggestions.isAsked.value} title=${t("draft.ask_hint")} onClick=${() => void suggestions.ask()}>
    <${Icon} name="spark" /><span>${t("draft.ask")}</span></button>`;
}
