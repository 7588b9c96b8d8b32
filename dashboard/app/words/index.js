// Every word that people read, in their language; and numbers and times as they write them.

import { computed, effect, signal } from "../vendor/preact.js";
import { fetchLate } from "../parts/fetching.js";
import { today } from "../parts/now.js";
import { choose } from "../state/language.js";
import { preferences } from "../state/preferences.js";
import { en } from "./en.js";

/** @typedef {keyof typeof en | keyof typeof import("./en/pages.js").pages} Key */
/** @typedef {string | Partial<Record<Intl.LDMLPluralRule, string>>} Words */

/** @type {Record<string, {name: string, load: () => Promise<Record<string, Words>>}>} */
export const LANGUAGES = {
  en: { name: "English", load: async () => en },
  es: { name: "Español", load: async () => (await import("./es.js")).es },
  pt: { name: "Português (Brasil)", load: async () => (await import("./pt.js")).pt },
  ru: { name: "Русский", load: async () => (await import("./ru.js")).ru },
};

/** @type {import("../vendor/preact.js").Signal<{en: Record<string, Words>} & Record<string, Record<string, Words>>>} */
const loaded = signal({ en });

/** What English says on the pages beside the inbox; the other languages have it already. */
export async function fetchPageWords() {
  const { pages } = await import("./en/pages.js");
  loaded.value = { ...loaded.peek(), en: { ...en, ...pages } };
}

/** The language that is wanted and could not be fetched, so English stands there. @type {import("../vendor/preact.js").Signal<string | null>} */
export const unfetched = signal(null);

/** What was set for the whole installation; empty: nothing. The server writes it into the page. */
export const installation = document.querySelector("meta[name=baton-language]")?.getAttribute("content") ?? "";

export const language = computed(() =>
  choose({ chosen: preferences.value.language, installation, browser: navigator.languages }, Object.keys(LANGUAGES)));

effect(() => {
  const tag = language.value;
  document.documentElement.lang = tag;
  unfetched.value = null;
  if (tag in loaded.peek()) return;
  void fetchLate(LANGUAGES[tag].load).then((words) => {
    if (words) loaded.value = { ...loaded.peek(), [tag]: words };
    else if (tag === language.peek()) unfetched.value = tag;
  });
});

/** In the language that is read, or else in English. @param {string} key @returns {Words | undefined} */
const found = (key) => loaded.value[language.value]?.[key] ?? loaded.value.en[key];

/**
 * The words for a key. `{name}` in them is filled in; where they differ by number, `count` chooses.
 * @param {Key} key
 * @param {Record<string, string | number>} [given]
 */
export function t(key, given = {}) {
  const all = /** @type {Words} */ (found(key));
  const words = typeof all === "string" ? all : all[plural(language.value, Number(given.count))] ?? all.other ?? "";
  return words.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = given[name];
    return value === undefined ? whole : typeof value === "number" ? number(value) : value;
  });
}

/**
 * The words for a value of the API, such as a reason. One that is newer than this page is shown as it is.
 * @param {string} group @param {string | null | undefined} value
 */
export function word(group, value) {
  if (!value) return "";
  const key = `${group}.${value}`;
  return found(key) ? t(/** @type {Key} */ (key)) : value.replaceAll("_", " ");
}

/** @type {Map<string, any>} */
const made = new Map();
/** @template T @param {string} name @param {() => T} make @returns {T} */
function once(name, make) {
  if (!made.has(name)) made.set(name, make());
  return made.get(name);
}

/** @param {string} tag @param {number} count */
const plural = (tag, count) => once(`plural ${tag}`, () => new Intl.PluralRules(tag)).select(count);

/** @param {number} value */
export const number = (value) => once(`number ${language.value}`, () => new Intl.NumberFormat(language.value)).format(value);

/** In the currency of the prices, which nobody has named: small sums with more digits. @param {number} value */
export function money(value) {
  const maximumFractionDigits = value >= 1 ? 2 : 4;
  return once(`money ${maximumFractionDigits} ${language.value}`, () => new Intl.NumberFormat(language.value, { maximumFractionDigits })).format(value);
}

/** Languages with a region; what else a browser may name, `Intl` may refuse. */
const TAG = /^[a-z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?$/;
/** In which way dates are written: one language has several, and the browser knows which is at home here. */
const region = computed(() => navigator.languages.find((tag) => tag.split("-")[0] === language.value && TAG.test(tag)) ?? language.value);

/** @param {string} name @param {Intl.DateTimeFormatOptions} options */
const dates = (name, options) =>
  once(`${name} ${region.value}`, () => new Intl.DateTimeFormat(region.value, options));

/** Hour and minute. @param {string | number | Date} at */
export const clock = (at) => dates("clock", { hour: "2-digit", minute: "2-digit" }).format(new Date(at));
/** To the second: in a race they matter. @param {string | number | Date} at */
export const exact = (at) => dates("exact", { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(new Date(at));
/** Day and time, whole: for titles. @param {string | number | Date} at */
export const moment = (at) => dates("moment", { dateStyle: "medium", timeStyle: "medium" }).format(new Date(at));
/** Day and time as people make an appointment: no seconds. @param {string | number | Date} at */
export const appointment = (at) =>
  dated("appointment", { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }, at);
/** The day, as a separator names it. @param {string | number | Date} at */
export function day(at) {
  const days = daysAgo(at);
  if (days === 0) return t("day.today");
  if (days === 1) return t("day.yesterday");
  if (days > 1 && days < 7) return dates("weekday", { weekday: "long" }).format(new Date(at));
  return dates("day", { dateStyle: "long" }).format(new Date(at));
}
/** Short, for a list: today the clock, this week the day, then the date. @param {string | number | Date} at */
export function lately(at) {
  const days = daysAgo(at);
  if (days === 0) return clock(at);
  if (days > 0 && days < 7) return dates("short weekday", { weekday: "short" }).format(new Date(at));
  return dated("short day", { day: "numeric", month: "short" }, at);
}

/** The year is named where it is not this one: else a day of another would be taken for one of this. @param {string} name @param {Intl.DateTimeFormatOptions} options @param {string | number | Date} at */
function dated(name, options, at) {
  const isThisYear = new Date(at).getFullYear() === new Date(today.value).getFullYear();
  return (isThisYear ? dates(name, options) : dates(`${name} of a year`, { ...options, year: "numeric" })).format(new Date(at));
}

/** What shows it is drawn again at midnight. @param {string | number | Date} at */
const daysAgo = (at) => Math.round((today.value - new Date(at).setHours(0, 0, 0, 0)) / 86_400_000);

/**
 * A length of time in its largest unit, as `3 min`; below ten seconds with a decimal.
 * @param {number} ms
 */
export function span(ms) {
  const s = Math.max(0, ms) / 1000;
  const [value, unit] =
    s < 10 ? [Math.round(s * 10) / 10, "second"]
    : s < 60 ? [Math.round(s), "second"]
    : s < 3600 ? [Math.floor(s / 60), "minute"]
    : s < 86_400 ? [Math.floor(s / 3600), "hour"]
    : [Math.floor(s / 86_400), "day"];
  const make = () => new Intl.NumberFormat(language.value, { style: "unit", unit: String(unit), unitDisplay: "short" });
  return once(`span ${unit} ${language.value}`, make).format(Number(value));
}
