// What was sent and is to be sent to an endpoint of webhooks, and what it answered.

import { html, useSignal } from "../../vendor/preact.js";
import { Problem, post } from "../../wire/api.js";
import { lately, moment, number, t, word } from "../../words/index.js";
import { Ago } from "../ago.js";
import { useHeard, useListed, useOnItsWay } from "../../parts/asked.js";
import { Dialog } from "../../parts/dialog.js";
import { Listing, Table } from "../listing.js";
import { problemText } from "../../parts/toast.js";

/** @import * as Wire from "../../../types/wire.js" */

/** How the last attempt went, in a few words. @param {Wire.WebhookDelivery} delivery */
export function outcomeOf({ state, status, reason }) {
  if (state === "dropped") return word("webhook_state", state);
  if (!reason) return status ? t("webhooks.received", { status: String(status) }) : word("webhook_state", state);
  const why = word("webhook_reason", reason);
  return status ? t("webhooks.answered", { why, status: String(status) }) : why;
}

/** @param {{title: string, path: string, onClose: () => void}} props `path` is the endpoint's */
export function Deliveries({ title, path, onClose }) {
  /** @type {import("../../parts/asked.js").Listed<Wire.WebhookDelivery>} */
  const listed = useListed(`${path}/deliveries`);
  /** What came of telling one again: said in here, for a toast lies under the dialog. */
  const said = useSignal("");
  useHeard(() => true, listed.again);
  useOnItsWay(listed.items?.some((it) => it.state === "pending") ?? false, listed.again);

  /** @param {Wire.WebhookDelivery} delivery */
  async function again(delivery) {
    said.value = "";
    try {
      await post(`${path}/deliveries/${delivery.id}/retry`);
      said.value = t("webhooks.again_now");
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      said.value = problemText(error);
    }
    await listed.again();
  }
  return html`<${Dialog} title=${title} onClose=${onClose} wide>
    <p class="hint">${t("webhooks.log_hint")} <button class="link" onClick=${() => void listed.again()}>${t("webhooks.look_again")}</button> <strong role="status">${said.value}</strong></p>
    <${Listing} listed=${listed} empty=${t("webhooks.log_empty")}>
      ${(/** @type {Wire.WebhookDelivery[]} */ items) => html`<${Table} label=${title} items=${items} id=${(/** @type {Wire.WebhookDelivery} */ it) => it.id} columns=${columns(again)} />`}
    </${Listing}>
  </${Dialog}>`;
}

/**
 * @param {(delivery: Wire.WebhookDelivery) => Promise<void>} again
 * @returns {import("../listing.js").Column<Wire.WebhookDelivery>[]}
 */
function columns(again) {
  return [
    { words: t("webhooks.event"), isHead: true, cell: (it) => html`<div>${it.type}<div class="hint"><time datetime=${it.created_at} title=${moment(it.created_at)}>${lately(it.created_at)}</time></div></div>` },
    { words: t("webhooks.state"), cell: (it) => html`<div><span class="tag ${it.state === "failed" ? "is-bad" : ""}">${word("webhook_state", it.state)}</span>
      ${it.state === "pending" && it.next_attempt_at && it.attempts > 0 && html`<div class="hint">${t("webhooks.next")} <${Ago} at=${it.next_attempt_at} /></div>`}</div>` },
    { words: t("webhooks.attempts"), cell: (it) => number(it.attempts) },
    { words: t("webhooks.answer"), look: "is-wide", cell: (it) => html`<div>${it.last_attempt_at ? outcomeOf(it) : html`<span class="soft">${t("none")}</span>`}
      ${it.answer && html`<details><summary>${t("webhooks.answer_text")}</summary><pre tabindex="0" aria-label=${t("webhooks.answer_text")}>${it.answer}</pre></details>`}</div>` },
    { words: t("actions"), look: "is-actions", cell: (it) => it.event_id && html`<button onClick=${() => void again(it)} aria-label=${t("webhooks.again.which", { type: it.type, time: moment(it.created_at) })}>${t("webhooks.again")}</button>` },
  ];
}
