// Overview: how it stands now, and how it went, as plots. It looks again every minute, and says when it looked last.

import { html, useMemo } from "../../vendor/preact.js";
import { FIRST } from "../../state/filter.js";
import { go, route } from "../../state/route.js";
import { serverNow } from "../../wire/server_time.js";
import { clock, language, lately, t } from "../../words/index.js";
import { useAsked, useHeard, useListed } from "../../parts/asked.js";
import { useEachMinute } from "../each_minute.js";
import { Failed } from "../listing.js";
import { Segments } from "../segments.js";
import { isOfChannels } from "../channels/state.js";
import { Now } from "./now.js";
import { Plot } from "./plot.js";
import { plotsOf } from "./plots.js";

/** @import * as Wire from "../../../types/wire.js" */

/** @type {Record<string, {step: "hour" | "day", count: number}>} */
const RANGES = { day: { step: "hour", count: 24 }, week: { step: "day", count: 7 }, month: { step: "day", count: 30 } };
/** @typedef {keyof typeof RANGES} Range */
const HOUR_MS = 3_600_000;

/** When a range begins: at a whole hour, or at midnight here. @param {string} range */
function begin(range) {
  const { step, count } = RANGES[range];
  const at = new Date(serverNow());
  at.setMinutes(0, 0, 0);
  if (step === "hour") at.setHours(at.getHours() - count + 1);
  else at.setHours(0), at.setDate(at.getDate() - count + 1);
  return at.toISOString();
}

/**
 * No more than the range has. Midnight here is within a day of the business where its zone is another, and the server tells
 * that day whole, as one more.
 * @template T @param {T[]} items @param {string} range
 */
export const lastOf = (items, range) => items.slice(-RANGES[range].count);

export function Overview() {
  const { query } = route.value;
  const range = String(query.get("range") ?? "day") in RANGES ? String(query.get("range") ?? "day") : "day";
  const channel = query.get("channel") ?? "";
  const { step } = RANGES[range];
  const asked = useAsked("/stats", { from: begin(range), step, channel }, `${range} ${channel}`);
  const channels = /** @type {import("../../parts/asked.js").Listed<Wire.Channel>} */ (useListed("/channels"));
  useHeard(isOfChannels, channels.again);
  // As many as the inbox shows there: who waits in HUMAN needs somebody before anybody was called.
  const counts = useAsked("/conversations/counts", { status: FIRST.status, channel }, channel);
  useEachMinute(() => (asked.again(), counts.again()));
  const stats = /** @type {Wire.Stats | null} */ (asked.answer);
  /** @param {Record<string, string>} change */
  const place = (change) => {
    const wanted = Object.entries({ range, channel, ...change }).filter(([name, value]) => value && !(name === "range" && value === "day"));
    return `/overview${wanted.length > 0 ? `?${new URLSearchParams(wanted)}` : ""}`;
  };
  return html`<div class="sheet overview">
    <header>
      <h1>${t("nav.overview")}</h1>
      ${(channels.items?.length ?? 0) > 1 && html`<label class="of-channel"><span>${t("overview.channel")}</span>
        <select onChange=${(/** @type {any} */ event) => go(place({ channel: event.target.value }), { replace: true })}>
          <option value="" selected=${channel === ""}>${t("channels.every")}</option>
          ${channels.items?.map((it) => html`<option key=${it.name} value=${it.name} selected=${channel === it.name}>${it.title || it.name}</option>`)}
        </select></label>`}
      <${Segments} label=${t("overview.range")} places=${Object.keys(RANGES).map((it) => ({ href: place({ range: it }), words: t(/** @type {any} */ (`overview.range_${it}`)), isHere: it === range }))} />
    </header>
    ${asked.problem && html`<${Failed} problem=${asked.problem} again=${asked.again} />`}
    ${stats ? html`
      <p class="lead">${asked.problem ? t("overview.last_known", { at: clock(asked.at) }) : t("overview.last", { at: clock(asked.at) })}</p>
      <${Now} now=${stats.now} needed=${counts.answer?.needs_you ?? null} channels=${channels.items ?? []} channel=${channel} />
      <${Plots} items=${stats.items} step=${step} range=${range} />`
    : !asked.problem && html`<p class="waiting" role="status">${t("loading")}</p>`}
  </div>`;
}

/** @param {{items: Wire.Stats["items"], step: "hour" | "day", range: string}} props */
function Plots({ items: all, step, range }) {
  const plots = useMemo(() => {
    const items = lastOf(all, range);
    const places = items.map(({ from }) => {
      if (step === "hour") return { short: formatted(from, { hour: "numeric" }), whole: `${lately(from)}–${clock(Date.parse(from) + HOUR_MS)}` };
      const day = dayOf(from);
      return { short: day, whole: day };
    });
    return plotsOf(items, { places, head: t(step === "hour" ? "overview.hour" : "overview.day") });
  }, [all, range, language.value]);
  return html`<h2 class="plots-title">${t(/** @type {any} */ (`overview.title_${range}`))}</h2>
    <div class="plots">${plots.map((plot) => html`<section key=${plot.title} class="card"><${Plot} ...${plot} /></section>`)}</div>`;
}

/** @type {Intl.DateTimeFormatOptions} */
const DAY = { day: "numeric", month: "short" };
/** @param {string} at @param {Intl.DateTimeFormatOptions} how */
const formatted = (at, how) => new Intl.DateTimeFormat(language.value, how).format(new Date(at));

/**
 * The day of the business that begins then. Its zone is not told; but twelve hours after a midnight it is that day by UTC too,
 * wherever that was and whoever looks. Only a midnight at ten or eleven is of two days, as in Honolulu and in Auckland: there it
 * is taken for the one that is nearer to whoever looks.
 * @param {string} from
 */
export function dayOf(from) {
  const isOfTwo = [10, 11].includes(new Date(from).getUTCHours());
  return formatted(new Date(Date.parse(from) + 12 * HOUR_MS).toISOString(), isOfTwo ? DAY : { ...DAY, timeZone: "UTC" });
}
