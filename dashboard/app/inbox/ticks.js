// Where a message of ours is: ticks for who knows them, and the words for everybody.

import { html } from "../vendor/preact.js";
import { Icon } from "../parts/icon.js";
import { clock, moment, t, word } from "../words/index.js";
import { isLoud } from "./fates.js";

/** @import * as Wire from "../../types/wire.js" */

/** @type {Record<Wire.Delivery["state"], import("../parts/icon.js").IconName>} */
const SIGNS = { queued: "clock", sending: "send", sent: "check", delivered: "checks", read: "checks", failed: "alert", unknown: "question", cancelled: "close", dead: "alert" };

/** @param {{of: Wire.Delivery}} props */
export function Ticks({ of }) {
  const words = deliveryWords(of);
  return html`<span class="ticks is-${of.state} ${isLoud(of) ? "is-loud" : ""}" title=${`${words}${when(of)}`}>
    <${Icon} name=${SIGNS[of.state] ?? "question"} /><span class=${isLoud(of) ? "" : "unseen"}>${words}</span>
  </span>`;
}

/** @param {Wire.Delivery} it */
export function deliveryWords(it) {
  const why = it.reason ? word("delivery_reason", it.reason) : "";
  if (it.state === "cancelled") return why ? t("tick.withdrawn_because", { why }) : t("tick.withdrawn");
  if (it.state === "queued" && it.attempts > 0) {
    return it.next_attempt_at ? t("tick.again_at", { count: it.attempts, at: clock(it.next_attempt_at) }) : t("tick.again", { count: it.attempts });
  }
  const words = word("delivery", it.state);
  return why && isLoud(it) ? `${words}: ${why}` : words;
}

/** @param {Wire.Delivery} it */
function when(it) {
  const at = it.state === "read" ? it.read_at : it.state === "delivered" ? it.delivered_at : it.state === "sent" ? it.sent_at : null;
  return at ? `, ${moment(at)}` : "";
}
