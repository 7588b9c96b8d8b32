// Why a person is needed here: in words, with since when, and the button that says it is dealt with.

import { html } from "../vendor/preact.js";
import { mayAct } from "../state/session.js";
import { serverNow } from "../wire/server_time.js";
import { Icon } from "../parts/icon.js";
import { minute } from "../parts/now.js";
import { moment, span, t, word } from "../words/index.js";
import { clearAttention } from "./acts.js";

/** @import * as Wire from "../../types/wire.js" */

/** Reasons that tell how long the contact waits. */
const WAITS = new Set(["human_overdue", "unanswered"]);

/** @param {{it: Wire.Conversation}} props */
export function Attention({ it }) {
  if (!it.attention) return null;
  const { reason } = it.attention;
  // That the contact waits is found late: they have waited since they wrote.
  const since = (WAITS.has(reason) && it.waiting_since) || it.attention.since;
  const ago = span(Math.max(0, Math.max(minute.value, serverNow()) - Date.parse(since)));
  // A send of unknown fate is settled at its message, and only there.
  const canClear = mayAct() && reason !== "send_unknown";
  return html`<div class="attention" role="note">
    <${Icon} name="alert" />
    <p><b>${word("attention", reason)}</b> <span title=${moment(since)}>${t("attention.for", { time: ago })}</span></p>
    ${canClear ? html`<button type="button" onClick=${() => void clearAttention(it)}>${t("attention.clear")}</button>`
    : reason === "send_unknown" && html`<p class="hint">${t("attention.settle_below")}</p>`}
  </div>`;
}
