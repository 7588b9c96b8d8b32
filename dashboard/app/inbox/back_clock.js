// The clock back to the AI: counting down where one sees it, extended or stopped with two clicks.

import { html } from "../vendor/preact.js";
import { mayAct } from "../state/session.js";
import { serverNow } from "../wire/server_time.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { minute, now } from "../parts/now.js";
import { appointment, span, t } from "../words/index.js";
import { backAt } from "./modes.js";
import { countdown, dayAt, inMinutes } from "./times.js";

/** @import * as Wire from "../../types/wire.js" */

/** @param {{it: Wire.Conversation}} props */
export function BackClock({ it }) {
  const until = Date.parse(it.mode_until ?? "");
  const left = until - now.value;
  const words = left > 0 ? t("clock.back_in", { time: countdown(left) }) : t("clock.back_now");
  // The label changes once a minute: a screen reader would read it out again each second.
  const named = left > 0 ? t("clock.back_in", { time: span(until - minute.value) }) : words;
  if (!mayAct()) return html`<span class="back-clock" title=${appointment(until)}><${Icon} name="clock" />${words}</span>`;
  const later = (/** @type {number} */ minutes) => backAt(it, inMinutes(Math.max(until, serverNow()), minutes));
  return html`<${Menu} class="back-clock" icon="clock" label=${t("clock.change", { words: named, at: appointment(until) })} words=${html`<span class="number">${words}</span>`} items=${[
    { icon: "plus", words: t("clock.half_hour_more"), run: () => void later(30) },
    { icon: "plus", words: t("clock.hour_more"), run: () => void later(60) },
    { icon: "clock", words: t("clock.tomorrow"), run: () => void backAt(it, dayAt(serverNow(), 1, 9)) },
    "line",
    { icon: "close", words: t("clock.stop"), hint: t("clock.stop_hint"), run: () => void backAt(it, null) },
  ]} />`;
}
