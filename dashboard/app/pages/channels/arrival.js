// Whether a number that is being connected works, said live: each way is ticked once something has come by it.

import { html, useEffect, useSignal } from "../../vendor/preact.js";
import { hear } from "../../state/feed.js";
import { inboxAt } from "../../state/filter.js";
import { t } from "../../words/index.js";
import { useAsked, useHeard } from "../../parts/asked.js";
import { Icon } from "../../parts/icon.js";
import { isLinked } from "../../parts/linked.js";
import { LinkPhone, isToBeLinked } from "./link_phone.js";
import { StateWords, isRefused } from "./state.js";

/** @import * as Wire from "../../../types/wire.js" */

/** What can only have come from Green API by itself: by a webhook, or fetched. */
const BY_WEBHOOK = ["message_received", "webhook_ignored", "duplicate_webhook", "webhook_dead_lettered"];

/** @param {{channel: Wire.Channel, isFetched: boolean}} props `isFetched`: what happens is fetched, and no webhook comes */
export function Arrival({ channel, isFetched }) {
  const { answer, again } = useAsked("/conversations", { channel: channel.name, limit: 1 });
  const first = /** @type {Wire.Conversation | null} */ (answer?.items[0] ?? null);
  const isReached = useSignal(false);
  useEffect(() => hear((event) => {
    if (event.channel === channel.name && BY_WEBHOOK.includes(event.type)) isReached.value = true;
  }), [channel.name]);
  useHeard((event) => event.channel === channel.name && (first ? event.type === "conversation_erased" : event.type === "message_received"), again);
  const linked = isLinked(channel);
  const reached = isReached.value || first !== null;
  return html`<ul class="arrival" aria-live="polite">
    <${Step} isDone=${linked} words=${t(linked ? "arrival.linked" : "arrival.not_linked")}>${!linked && !isRefused(channel) && html`<div class="hint"><${StateWords} channel=${channel} /></div>`}
      ${isToBeLinked(channel) && html`<${LinkPhone} channel=${channel} />`}</${Step}>
    <${Reached} isReached=${reached} isFetched=${isFetched} />
    <${Step} isDone=${first !== null} words=${t(first ? "arrival.message" : "arrival.no_message")}>
      ${first ? html`<a href=${inboxAt({ channel: channel.name }, first.id)} data-within>${t("arrival.open", { name: first.contact.name ?? first.contact.phone ?? first.chat_id })}</a>` : html`<p class="hint">${t("arrival.no_message_hint")}</p>`}
    </${Step}>
  </ul>`;
}

/** Whether anything has come. @param {{isReached: boolean, isFetched: boolean}} props */
export function Reached({ isReached, isFetched }) {
  if (isReached) return html`<${Step} isDone words=${t(isFetched ? "arrival.fetched" : "arrival.reached")} />`;
  return html`<${Step} isDone=${false} words=${t(isFetched ? "arrival.not_fetched" : "arrival.not_reached")}>
    <p class="hint">${t(isFetched ? "arrival.not_fetched_hint" : "arrival.not_reached_hint")}</p>
  </${Step}>`;
}

/** @param {{isDone: boolean, words: string, children?: any}} props */
function Step({ isDone, words, children }) {
  return html`<li class=${isDone ? "is-done" : ""}>
    <span class="mark" aria-hidden="true">${isDone && html`<${Icon} name="check" />`}</span>
    <div><p>${words}</p>${children}</div>
  </li>`;
}
