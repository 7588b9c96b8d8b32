// Who the contact is: the name, which an agent may correct, and how they are reached.

import { html, useEffect, useRef, useSignal } from "../vendor/preact.js";
import { mayAct } from "../state/session.js";
import { channelTitle } from "../state/shelf.js";
import { Avatar } from "../parts/avatar.js";
import { Icon } from "../parts/icon.js";
import { useKeptFocus } from "../parts/kept_focus.js";
import { isComposing } from "../parts/keys.js";
import { day, t } from "../words/index.js";
import { optIn, rename } from "./acts.js";
import { contactName } from "./names.js";

/** @import * as Wire from "../../types/wire.js" */

/** As long as the server keeps. */
const NAME_MAX = 256;

/** @param {{it: Wire.Conversation}} props */
export function ContactCard({ it }) {
  const isEdited = useSignal(false);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useKeptFocus(box, () => box.current?.querySelector(".contact-name button"));
  useEffect(() => {
    isEdited.value = false;
  }, [it.id]);
  return html`<div class="contact-card" ref=${box}>
    <${Avatar} name=${it.contact.name} chat=${it.chat_id} />
    ${isEdited.value ? html`<${Name} it=${it} onClose=${() => (isEdited.value = false)} />`
    : html`<p class="contact-name"><b dir="auto">${contactName(it)}</b>
        ${mayAct() && html`<button type="button" class="bare" aria-label=${t("contact.rename")} title=${t("contact.rename")} onClick=${() => (isEdited.value = true)}><${Icon} name="pen" /></button>`}</p>`}
    ${it.opted_out && html`<p class="tag is-warn"><${Icon} name="pause" />${t("contact.opted_out")}
      ${mayAct() && html`<button type="button" class="bare" title=${t("contact.opt_in_hint")} onClick=${() => void optIn(it)}>${t("contact.opt_in")}</button>`}</p>`}
    <dl>
      ${it.contact.phone && html`<div><dt>${t("contact.phone")}</dt><dd><a href="tel:${it.contact.phone}">${it.contact.phone}</a></dd></div>`}
      <div><dt>${t("contact.chat", { count: 1 + it.aliases.length })}</dt><dd>${[it.chat_id, ...it.aliases].map((id) => html`<code key=${id}>${id}</code> `)}</dd></div>
      <div><dt>${t("contact.channel")}</dt><dd>${channelTitle(it.channel)}</dd></div>
      <div><dt>${t("contact.since")}</dt><dd>${day(it.created_at)}</dd></div>
    </dl>
  </div>`;
}

/** @param {{it: Wire.Conversation, onClose: () => void}} props */
function Name({ it, onClose }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => field.current?.select(), []);
  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    const name = field.current?.value.trim();
    if (!name || name === it.contact.name || (await rename(it, name))) onClose();
  }
  return html`<form class="contact-name" onSubmit=${submit} onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && !isComposing(event) && (event.preventDefault(), onClose())}>
    <input ref=${field} dir="auto" defaultValue=${it.contact.name ?? ""} maxlength=${NAME_MAX} aria-label=${t("contact.name")} />
    <button class="is-primary">${t("save")}</button>
  </form>`;
}
