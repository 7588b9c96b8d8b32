// How long ago something was, or how soon it will be; the moment itself is a hover away.

import { html } from "../vendor/preact.js";
import { serverNow } from "../wire/server_time.js";
import { moment, span, t } from "../words/index.js";
import { minute } from "../parts/now.js";

/** @param {{at: string}} props */
export function Ago({ at }) {
  const left = Date.parse(at) - Math.max(minute.value, serverNow());
  // The page looks once a minute, so it names no seconds.
  const isNow = Math.abs(left) < 60_000;
  const words = isNow ? t(left > 0 ? "ago.soon" : "ago.now") : left > 0 ? t("ago.to_come", { time: span(left) }) : t("ago.ago", { time: span(-left) });
  return html`<time datetime=${at} title=${moment(at)}>${words}</time>`;
}
