// One dead letter: what it is, why it was given up, what is in it, and what can be done.

import { html, useSignal } from "../vendor/preact.js";
import { isAdmin } from "../state/session.js";
import { channelTitle } from "../state/shelf.js";
import { Problem, post, remove } from "../wire/api.js";
import { t, word } from "../words/index.js";
import { Ago } from "./ago.js";
import { Confirm } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { problemText, say } from "../parts/toast.js";
import { ConversationLink } from "./conversation_link.js";

/** @import * as Wire from "../../types/wire.js" */

/** Of these kinds one can be tried although it is no longer wanted. @param {Wire.DeadLetter["kind"]} kind */
const isForced = (kind) => kind === "turn" || kind === "send";

/** Why, in words: the values differ by kind, and a webhook's reason is a sentence of the server's. @param {Wire.DeadLetter} letter */
function reasonOf(letter) {
  if (letter.kind === "turn") return word("turn_reason", letter.reason);
  if (letter.kind === "send") return word("delivery_reason", letter.reason);
  if (letter.kind === "delivery") return word("webhook_reason", letter.reason);
  return letter.reason;
}

/** @param {{letter: Wire.DeadLetter, again: () => Promise<void>}} props */
export function Letter({ letter, again }) {
  const isBusy = useSignal(false);
  /** What is asked before it is done. */
  const asked = useSignal(/** @type {"discard" | "force" | null} */ (null));
  /** Why it was not done; `mayForce` while trying all the same would change that. */
  const refused = useSignal(/** @type {{text: string, mayForce: boolean} | null} */ (null));

  /** @param {() => Promise<any>} what @param {string} done @param {boolean} mayForce */
  async function attempt(what, done, mayForce) {
    if (isBusy.peek()) return;
    isBusy.value = true;
    refused.value = null;
    try {
      await what();
      say(done);
      await again();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // Somebody else has decided meanwhile: the list says how it is now.
      const isOver = error.isNotThere || (error.status === 409 && error.current?.state && error.current.state !== "open");
      if (isOver) {
        say(t("letters.decided"));
        await again();
      } else {
        const text = error.status === 409 ? t("letters.refused", { why: problemText(error) }) : problemText(error);
        refused.value = { text, mayForce: mayForce && error.status === 409 && isForced(letter.kind) };
      }
    } finally {
      isBusy.value = false;
    }
  }
  const retry = (/** @type {boolean} */ force) =>
    attempt(() => post(`/dead-letters/${letter.id}/retry`, force ? { force: true } : {}), t("letters.retried"), !force);
  const discard = () => attempt(() => remove(`/dead-letters/${letter.id}`), t("letters.discarded"), false);
  const mayDecide = letter.state === "open" && isAdmin();
  return html`<li class="card entry">
    <div class="entry-head">
      <span class="tag ${letter.state === "open" ? "is-bad" : ""}">${word("letter_kind", letter.kind)}</span>
      <p class="entry-title">${t(`letters.what_${letter.kind}`)}</p>
    </div>
    <p>${t("letters.why", { why: reasonOf(letter) })}</p>
    <${Inside} letter=${letter} />
    <p class="entry-facts hint">
      ${letter.conversation_id && html`<${ConversationLink} id=${letter.conversation_id} />`}
      <span>${t("letters.attempts", { count: letter.attempts })}</span>
      <span>${t("letters.given_up")} <${Ago} at=${letter.last_at} /></span>
      ${letter.channel && html`<span>${t("letters.on", { channel: channelTitle(letter.channel) })}</span>`}
    </p>
    ${refused.value && html`<div class="refused" role="alert">
      <p>${refused.value.text}</p>
      ${refused.value.mayForce && html`<p><button aria-disabled=${isBusy.value ? "true" : undefined} onClick=${() => (asked.value = "force")}>${t("letters.force")}</button></p>`}
    </div>`}
    ${mayDecide && html`<p class="entry-acts">
      <button aria-disabled=${isBusy.value ? "true" : undefined} onClick=${() => void retry(false)}><${Icon} name="retry" /> ${t(`letters.retry_${letter.kind}`)}</button>
      <button aria-disabled=${isBusy.value ? "true" : undefined} onClick=${() => (asked.value = "discard")}><${Icon} name="trash" /> ${t("letters.discard")}</button>
    </p>`}
    ${asked.value === "discard" && html`<${Confirm} title=${t("letters.discard_title")} text=${t(`letters.discard_${letter.kind}`)} verb=${t("letters.discard")}
      onYes=${() => void discard()} onClose=${() => (asked.value = null)} />`}
    ${asked.value === "force" && html`<${Confirm} title=${t("letters.force_title")} text=${t(letter.kind === "turn" ? "letters.force_turn" : "letters.force_send")}
      verb=${t(letter.kind === "turn" ? "letters.force_yes_turn" : "letters.force_yes_send")} onYes=${() => void retry(true)} onClose=${() => (asked.value = null)} />`}
  </li>`;
}

/** What is in it, only ever as text. @param {{letter: Wire.DeadLetter}} props */
function Inside({ letter }) {
  const { payload } = letter;
  const isSend = letter.kind === "send" && typeof payload?.text === "string";
  return html`
    ${isSend && html`<blockquote class="entry-text">${payload.text}</blockquote>`}
    <details><summary>${t("letters.inside")}</summary><pre tabindex="0" aria-label=${t("letters.inside")}>${textOf(payload)}</pre></details>`;
}

/** @param {any} payload */
function textOf(payload) {
  // What is no text came in base64, and is shown as it came.
  if (payload?.encoding === "base64") return payload.data;
  return typeof payload === "string" ? payload : JSON.stringify(payload, null, 2);
}
