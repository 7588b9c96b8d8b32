// The business's own phone: somebody at the shop answers there, past Baton, and Baton lets the person have the conversation.

import { html, useSignal } from "../vendor/preact.js";
import { t } from "../words/index.js";
import { Icon } from "../parts/icon.js";
import { sayProblem } from "../parts/toast.js";

/** @import { Contact } from "./contacts.js" */
/** @import { Screen } from "./screen.js" */

/** @param {{contact: Contact, screen: Screen}} props */
export function OwnPhone({ contact, screen }) {
  const text = useSignal("");
  const isBusy = useSignal(false);

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    const words = text.peek().trim();
    if (!words || isBusy.peek()) return;
    isBusy.value = true;
    try {
      await screen.sayAsBusiness(words);
      text.value = "";
    } catch (error) {
      sayProblem(error);
    } finally {
      isBusy.value = false;
    }
  }
  return html`<details class="own-phone">
    <summary><${Icon} name="phone" />${t("play.own_phone")}</summary>
    <p class="hint" id="play-own-hint">${t("play.own_phone_hint", { name: contact.name })}</p>
    <form onSubmit=${submit}>
      <input id="play-own-text" aria-label=${t("play.own_phone_write", { name: contact.name })} aria-describedby="play-own-hint"
        placeholder=${t("play.own_phone_write", { name: contact.name })} autocomplete="off" maxlength="4000" required value=${text.value}
        onInput=${(/** @type {any} */ event) => (text.value = event.target.value)} />
      <button id="play-own-send" disabled=${isBusy.value}>${t("play.send")}</button>
    </form>
  </details>`;
}
