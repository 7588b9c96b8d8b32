// The server's numbers as plots. In: the answer of `/stats`. Out: what each plot shows; nothing is worked out that the numbers
// do not say.

import { language, money, number, span, t, word } from "../../words/index.js";

/** @import * as Wire from "../../../types/wire.js" */
/** @import { PlotProps, Series } from "./plot.js" */

/** @typedef {Wire.Stats["items"]} Items */
/** @typedef {Pick<PlotProps, "places" | "head">} Along */
/** A series for each value of a group. @typedef {{value: string, colour: string, texture?: Series["texture"]}} Look */

/** @type {Look[]} */
const OUTCOMES = [
  { value: "answered", colour: "ai" },
  { value: "left_to_human", colour: "human", texture: "hatch" },
  { value: "handed_over", colour: "warn", texture: "dots" },
  { value: "pending", colour: "draft" },
  { value: "ignored", colour: "soft", texture: "hatch" },
  { value: "dead", colour: "bad", texture: "dots" },
];
/** @type {Look[]} */
const TURNS = [
  { value: "completed", colour: "good" },
  { value: "superseded", colour: "warn", texture: "hatch" },
  { value: "cancelled", colour: "human", texture: "dots" },
  { value: "failed", colour: "bad", texture: "hatch" },
];
/** @type {Look[]} */
const DRAFTS = [
  { value: "sent", colour: "good" },
  { value: "edited", colour: "draft", texture: "hatch" },
  { value: "discarded", colour: "soft", texture: "dots" },
  { value: "stale", colour: "warn", texture: "hatch" },
];
/** @type {Look[]} */
const FOLLOW_UPS = [
  { value: "sent", colour: "good" },
  { value: "pending", colour: "draft", texture: "hatch" },
  { value: "cancelled", colour: "soft", texture: "dots" },
  { value: "withheld", colour: "warn", texture: "hatch" },
];

/** Short, for a scale: `20K`. @param {number} value */
const compact = (value) => new Intl.NumberFormat(language.value, { notation: "compact", maximumFractionDigits: 1 }).format(value);
const counted = { scale: /** @type {const} */ ("count"), told: number, axis: compact,
  // Asked each time: the language may be changed while the page is open.
  get none() { return t("overview.none"); } };
const total = (/** @type {(number | null)[]} */ values) => values.reduce((/** @type {number} */ sum, value) => sum + (value ?? 0), 0);
/** A share in words; null of nothing. @param {number} part @param {number} whole */
const share = (part, whole) => (whole > 0 ? `${number(Math.round((part / whole) * 100))} %` : null);

/**
 * Values that the server has and this page does not know are shown too, at the end.
 * @param {string} group @param {Look[]} looks @param {Wire.Numbers[]} counts @returns {Series[]}
 */
function byValue(group, looks, counts) {
  const others = [...new Set(counts.flatMap((it) => Object.keys(it)))].filter((value) => !looks.some((look) => look.value === value));
  return [...looks, ...others.map((value) => ({ value, colour: "soft", texture: /** @type {const} */ ("dots") }))]
    .map(({ value, colour, texture }) => {
      const values = counts.map((it) => it[value] ?? 0);
      return { words: word(group, value), values, colour, texture, sum: number(total(values)) };
    })
    // What never happened is not in the legend, but the first is: an empty plot needs a name.
    .filter(({ values }, at) => at === 0 || values.some((value) => value > 0));
}

/** @param {Items} items @param {Along} along @returns {PlotProps[]} */
export function plotsOf(items, along) {
  return [conversations(items, along), outcomes(items, along), turns(items, along), answers(items, along, "first_answer_ms"),
    answers(items, along, "human_answer_ms"), tokens(items, along), cost(items, along), drafts(items, along), followUps(items, along)];
}

/** @param {Items} items @param {Along} along @returns {PlotProps} */
function conversations(items, along) {
  const values = items.map((it) => it.conversations);
  return { ...along, ...counted, kind: "bars", title: t("overview.conversations"), about: t("overview.conversations_about"),
    series: [{ words: t("overview.conversations"), values, colour: "accent" }] };
}

/** @param {Items} items @param {Along} along @returns {PlotProps} */
function outcomes(items, along) {
  const series = byValue("outcome", OUTCOMES, items.map((it) => it.outcomes));
  const all = total(series.flatMap(({ values }) => values));
  const byAi = share(total(series[0].values), all);
  return { ...along, ...counted, kind: "bars", title: t("overview.outcomes"),
    about: byAi && t("overview.outcomes_about", { count: all, share: byAi }), series };
}

/** @param {Items} items @param {Along} along @returns {PlotProps} */
function turns(items, along) {
  const series = byValue("turn_state", TURNS, items.map((it) => it.turns));
  const all = total(series.flatMap(({ values }) => values));
  const wasted = share(all - total(series[0].values), all);
  return { ...along, ...counted, kind: "bars", title: t("overview.turns"), about: wasted && t("overview.turns_about", { count: all, share: wasted }), series };
}

/** @param {Items} items @param {Along} along @param {"first_answer_ms" | "human_answer_ms"} of @returns {PlotProps} */
function answers(items, along, of) {
  const last = items.findLastIndex((it) => it[of].p50 !== null);
  const about = last >= 0 && t("overview.answer_about", { half: span(Number(items[last][of].p50)), most: span(Number(items[last][of].p90)), when: along.places[last].whole });
  return {
    ...along, kind: "lines", scale: "time", told: span, axis: (value) => (value === 0 ? "0" : span(value)), title: t(`overview.${of}`), about, none: t(of === "first_answer_ms" ? "overview.no_answer" : "overview.no_human_answer"),
    series: [
      { words: t("overview.p50"), values: items.map((it) => it[of].p50 ?? null), colour: "accent" },
      { words: t("overview.p90"), values: items.map((it) => it[of].p90 ?? null), colour: "human", texture: "dashes" },
    ],
  };
}

/** @param {Items} items @param {Along} along @returns {PlotProps} */
function tokens(items, along) {
  const values = items.map((it) => it.tokens);
  return { ...along, ...counted, kind: "bars", title: t("overview.tokens"), about: t("overview.tokens_about", { count: total(values) }),
    series: [{ words: t("overview.tokens"), values, colour: "ai" }] };
}

/** @param {Items} items @param {Along} along @returns {PlotProps} */
function cost(items, along) {
  const isKnown = items.some((it) => it.cost !== null);
  const wasted = items.map((it) => it.wasted_cost);
  // Of the whole cost, what is wasted is a part: the rest stands under it.
  const useful = items.map((it) => (it.cost === null ? null : Math.max(0, it.cost - (it.wasted_cost ?? 0))));
  const [all, lost] = [total(items.map((it) => it.cost)), total(wasted)];
  return {
    ...along, kind: "bars", scale: "amount", told: money, axis: money, title: t("overview.cost"),
    about: isKnown && t("overview.cost_about", { all: money(all), lost: money(lost), share: share(lost, all) ?? "0 %" }),
    none: t(isKnown ? "overview.no_cost" : "overview.cost_unknown"),
    series: [
      { words: t("overview.cost_used"), values: useful, colour: "ai", sum: money(all - lost) },
      { words: t("overview.cost_wasted"), values: wasted, colour: "bad", texture: "hatch", sum: money(lost) },
    ],
  };
}

/** @param {Items} items @param {Along} along @returns {PlotProps} */
function drafts(items, along) {
  const series = byValue("draft_state", DRAFTS, items.map((it) => it.drafts));
  const sum = (/** @type {string} */ value) => total(items.map((it) => it.drafts[value] ?? 0));
  const decided = sum("sent") + sum("edited") + sum("discarded");
  const accepted = share(sum("sent") + sum("edited"), decided);
  const about = accepted && t("overview.drafts_about", { count: decided, share: accepted, as_written: share(sum("sent"), decided) ?? "" });
  // Of percentiles no sum can be told.
  const last = items.findLastIndex((it) => it.draft_edit_distance.p50 !== null);
  const edits = last >= 0 && t("overview.drafts_edits", { half: items[last].draft_edit_distance.p50 ?? "", most: items[last].draft_edit_distance.p90 ?? "", when: along.places[last].whole });
  return { ...along, ...counted, kind: "bars", title: t("overview.drafts"), none: t("overview.no_drafts"),
    about: about && [about, edits].filter(Boolean).join(" "), series };
}

/** @param {Items} items @param {Along} along @returns {PlotProps} */
function followUps(items, along) {
  return { ...along, ...counted, kind: "bars", title: t("nav.follow_ups"), about: t("overview.follow_ups_about"), none: t("overview.no_follow_ups"),
    series: byValue("follow_up_state", FOLLOW_UPS, items.map((it) => it.follow_ups)) };
}
