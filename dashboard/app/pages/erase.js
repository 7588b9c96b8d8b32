// Erasing a person: asked in a dialog, where their number is typed, so that it is nobody else's.

import { html, useSignal } from "../vendor/preact.js";
import { contactName } from "../inbox/names.js";
import { drop } from "../state/conversations.js";
import { remove } from "../wire/api.js";
import { Dialog } from "../parts/dialog.js";
import { Field, Form, Send } from "../parts/form.js";
import { say } from "../parts/toast.js";
import { t } from "../words/index.js";
import { isConfirmed } from "./confirmed.js";

/** @import * as Wire from "../../types/wire.js" */

/** What is to be typed: the number as it is shown, or the chat where there is none. @param {Wire.Conversation} it */
const expected = (it) => it.contact.phone ?? it.chat_id;

/** @param {{it: Wire.Conversation, onClose: () => void}} props */
export function Ask({ it, onClose }) {
  const typed = useSignal("");
  const fault = useSignal("");
  async function send() {
    if (!isConfirmed(it, typed.peek())) {
      fault.value = t("erase.mismatch");
      return;
    }
    await remove(`/conversations/${it.id}`, { query: { confirm: it.chat_id } });
    onClose();
    drop(it.id);
    say(t("erase.done"));
  }
  return html`<${Dialog} title=${t("erase.title", { name: contactName(it) })} onClose=${onClose}>
    <p>${t("erase.text")}</p>
    <p class="hint">${t("erase.stays")}</p>
    <${Form} onSend=${send}>
      <${Field} name="confirm" label=${t("erase.field", { number: expected(it) })} fault=${fault.value} autocomplete="off" required
        onInput=${(/** @type {InputEvent} */ event) => {
          if (event.target instanceof HTMLInputElement) typed.value = event.target.value;
          fault.value = "";
        }} />
      <footer>
        <button type="button" onClick=${onClose}>${t("cancel")}</button>
        <${Send} class="is-danger">${t("erase.verb")}</${Send}>
      </footer>
    </${Form}>
  </${Dialog}>`;
}
