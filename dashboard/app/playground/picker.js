// Who is played: one of those who have written, or somebody new.

import { html, useEffect, useRef, useSignal } from "../vendor/preact.js";
import { t } from "../words/index.js";
import { Avatar } from "../parts/avatar.js";
import { Icon } from "../parts/icon.js";
import { isComposing } from "../parts/keys.js";
import { choose, contacts, makeUp, phoneOf } from "./contacts.js";

/** @import { Contact } from "./contacts.js" */

/** The name; with the end of the number where somebody else is called the same. @param {string} name @param {string} chat */
function told(name, chat) {
  const isShared = contacts.value.some((other) => other.name === name && other.chat !== chat);
  return isShared ? `${name} · ${phoneOf(chat).slice(-4)}` : name;
}

/** @param {{contact: Contact}} props */
export function Picker({ contact }) {
  const isNaming = useSignal(false);
  return html`<div class="picker">
    <${Avatar} name=${contact.name} chat=${contact.chat} />
    <label for="play-contact">${t("play.you_are")}</label>
    <select id="play-contact" value=${contact.chat} onChange=${(/** @type {any} */ event) => choose(event.target.value)}>
      ${contacts.value.map(({ chat, name }) => html`<option key=${chat} value=${chat} selected=${chat === contact.chat}>
        ${told(name, chat)}</option>`)}
    </select>
    <button class="bare" id="play-new" aria-expanded=${isNaming.value} aria-label=${t("play.new_contact")} title=${t("play.new_contact")}
      onClick=${() => (isNaming.value = !isNaming.peek())}><${Icon} name=${isNaming.value ? "close" : "plus"} /></button>
    ${isNaming.value && html`<${Naming} onDone=${() => (isNaming.value = false)} />`}
  </div>`;
}

/** @param {{onDone: () => void}} props */
function Naming({ onDone }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => field.current?.focus(), []);

  /** @param {SubmitEvent} event */
  function submit(event) {
    event.preventDefault();
    const name = field.current?.value.trim();
    if (!name) return;
    onDone();
    makeUp(name);
    // The button that was pressed is gone; whoever made somebody up wants to write.
    document.getElementById("play-text")?.focus();
  }
  /** @param {KeyboardEvent} event */
  function key(event) {
    if (event.key !== "Escape" || isComposing(event)) return;
    onDone();
    document.getElementById("play-new")?.focus();
  }
  return html`<form class="picker-new" onSubmit=${submit} onKeyDown=${key}>
    <input ref=${field} id="play-name" aria-label=${t("play.new_name")} placeholder=${t("play.new_name")} required maxlength="100" autocomplete="off" />
    <button class="is-primary">${t("play.new_make")}</button>
  </form>`;
}
