// The race made visible: contact, AI, agent and provider over time. A generation that was stopped is a bar cut short.

import { html, useMemo, useSignal } from "../vendor/preact.js";
import { serverNow } from "../wire/server_time.js";
import { useAsked, useHeard } from "../parts/asked.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { now } from "../parts/now.js";
import { exact, money, number, span, t, word } from "../words/index.js";
import { LANES, plan } from "./lane_plan.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Placed, Plan } from "./lane_plan.js" */

/** So many turns are more than one exchange has. */
const TURNS = 20;
const HEAD = 68;
const EDGE = 14;
const TOP = 8;

/** @param {{id: string, thread: import("../state/thread.js").Thread, events: Wire.Event[]}} props */
export function Lanes({ id, thread, events }) {
  const isLarge = useSignal(false);
  const { answer, again } = useAsked(`/conversations/${id}/turns`, { limit: TURNS });
  useHeard((event) => event.conversation_id === id && (event.turn_id !== null || event.type.startsWith("mode_change")), () => void again());
  /** @type {Wire.Turn[]} */
  const turns = answer?.items ?? [];
  const isRunning = turns.some((it) => !it.ended_at);
  const messages = thread.ordered.value;
  // Only while something runs does the picture grow by itself.
  const at = isRunning ? now.value : 0;
  const draw = (/** @type {number} */ width) => plan({ messages, turns, events, now: Math.max(at, serverNow()) }, width - HEAD - 2 * EDGE);
  const small = useMemo(() => draw(298), [messages, answer, events, at]);
  if (!small) return null;
  return html`
  <figure class="lanes">
    <${Picture} of=${small} width=${298} row=${26} /><${Words} of=${small} />
    <figcaption>${answer?.total && html`<${Used} total=${answer.total} />`}<button type="button" class="link" onClick=${() => (isLarge.value = true)}>${t("lanes.larger")}</button></figcaption>
  </figure>
  ${isLarge.value && html`<${Dialog} title=${t("lanes")} wide onClose=${() => (isLarge.value = false)}>
      <div class="lanes-scroll"><figure class="lanes is-large"><${Picture} of=${/** @type {Plan} */ (draw(780))} width=${780} row=${48} /></figure></div>
      <ul role="list" class="lanes-key">
        <li><i class="key is-writing"></i>${t("lanes.key.writing")}</li><li><i class="key is-cut"></i>${t("lanes.key.cut")}</li>
        <li><${Icon} name="check" />${t("lanes.key.sent")}</li><li><${Icon} name="close" />${t("lanes.key.withdrawn")}</li><li><i class="key is-switch"></i>${t("lanes.key.switch")}</li>
      </ul>
      <${Words} of=${small} isSeen />
    </${Dialog}>`}`;
}

/** What all turns of the conversation have used; those that the picture has no room for, too. @param {{total: Wire.Turns["total"]}} props */
export function Used({ total: { input_tokens, output_tokens, cost } }) {
  const tokens = input_tokens + output_tokens;
  if (tokens === 0) return null;
  return html`<span>${cost === null ? t("lanes.used", { tokens }) : t("lanes.used_cost", { tokens, cost: money(cost) })}</span>`;
}

/** @param {{of: Plan, width: number, row: number}} props */
function Picture({ of, width, row }) {
  const height = TOP + LANES.length * row + 22;
  const y = (/** @type {string | null} */ lane) => TOP + LANES.indexOf(/** @type {any} */ (lane)) * row + row / 2;
  const left = HEAD + EDGE;
  return html`
    <svg viewBox="0 0 ${width} ${height}" role="img" aria-label=${t("lanes.label")}>
      ${LANES.map((lane) => html`<g key=${lane}>
        <line class="lane" x1=${HEAD} x2=${width} y1=${y(lane)} y2=${y(lane)} />
        <text class="lane-name" x="0" y=${y(lane) + 4}>${word("lane", lane)}</text>
      </g>`)}
      ${of.breaks.map(({ x, ms }) => html`<g key=${x}><rect class="lane-break" x=${left + x - 7} y=${TOP} width="14" height=${LANES.length * row} />
        <text class="lane-time" x=${left + x} y=${height - 5} text-anchor="middle">${left + x > HEAD + 80 && span(ms)}</text></g>`)}
      <text class="lane-time" x=${HEAD} y=${height - 5}>${exact(of.from)}</text>
      ${!of.breaks.some(({ x }) => left + x > width - 90) && html`<text class="lane-time" x=${width} y=${height - 5} text-anchor="end">${t("lanes.after", { time: span(of.to - of.from) })}</text>`}
      ${of.items.map((it, at) => html`<${Mark} key=${at} it=${it} x=${left + it.x} x2=${it.x2 === null ? null : left + it.x2} y=${it.lane ? y(it.lane) : 0} bottom=${TOP + LANES.length * row} />`)}
    </svg>`;
}

/** @param {{it: Placed, x: number, x2: number | null, y: number, bottom: number}} props */
function Mark({ it, x, x2, y, bottom }) {
  const title = html`<title>${sentence(it)}</title>`;
  if (it.kind === "switch") return html`<g class="mark is-switch to-${it.to}">${title}<line x1=${x} x2=${x} y1=${TOP - 4} y2=${bottom + 2} /></g>`;
  if (it.kind === "writing") {
    const end = Math.max(x2 ?? x, x + 4);
    return html`<g class="mark is-writing ${it.isCut ? "is-cut" : ""} is-${it.to}">${title}<rect x=${x} y=${y - 6} width=${end - x} height="12" rx="4" />
      ${it.isCut && html`<path d="M${end - 4} ${y - 5}l8 10M${end + 4} ${y - 5}l-8 10" />`}</g>`;
  }
  if (it.kind === "sent") return html`<g class="mark is-sent">${title}<path d="M${x - 5} ${y}l4 4 7-8" /></g>`;
  if (it.kind === "withdrawn") return html`<g class="mark is-withdrawn">${title}<path d="M${x - 4} ${y - 4}l8 8M${x + 4} ${y - 4}l-8 8" /></g>`;
  if (it.kind === "unclear" || it.kind === "refused") return html`<g class="mark is-${it.kind}">${title}<circle cx=${x} cy=${y} r="6" /><text x=${x} y=${y + 4} text-anchor="middle">${it.kind === "unclear" ? "?" : "!"}</text></g>`;
  return html`<g class="mark is-message is-${it.lane}">${title}<circle cx=${x} cy=${y} r="5" /></g>`;
}

/** @param {Placed} it */
function sentence(it) {
  const at = exact(it.at);
  const what = it.kind === "switch" ? word("lanes.said.switch", it.to)
    : it.kind === "message" ? word("lanes.said.message", it.lane)
    : it.kind === "writing" ? t("lanes.said.writing", { time: span((it.until ?? it.at) - it.at), how: word("lanes.said.end", it.to) })
    : word("lanes.said", it.kind);
  return `${at} ${what}`;
}

/** The picture told. @param {{of: Plan, isSeen?: boolean}} props */
const Words = ({ of, isSeen }) => html`<ol role="list" class=${isSeen ? "lanes-words" : "unseen"} aria-label=${t("lanes.told", { count: of.items.length, number: number(of.items.length) })}>
  ${of.items.map((it, at) => html`<li key=${at}>${sentence(it)}</li>`)}
</ol>`;
