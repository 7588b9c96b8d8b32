// The pages beside the inbox, by the first word of their path. Each is fetched when it is first looked at: a person
// who only answers never needs them.

import { html, signal, useEffect } from "../vendor/preact.js";
import { fetchLate } from "../parts/fetching.js";
import { fetchPageWords, t } from "../words/index.js";

/** @typedef {() => any} Component */

/** @type {Record<string, () => Promise<Component>>} */
const FETCH = {
  "dead-letters": async () => (await import("./dead_letters.js")).DeadLetters,
  "follow-ups": async () => (await import("./follow_ups.js")).FollowUps,
  overview: async () => (await import("./overview/overview.js")).Overview,
  playground: async () => (await import("../playground/playground.js")).Playground,
  settings: async () => (await import("./settings/settings.js")).Settings,
};

/** Sheets that only that page needs. @type {Record<string, string>} */
const SHEETS = { overview: "pages-plots", playground: "playground", settings: "pages-channels" };

/** @param {string} name @returns {Promise<void>} once what it says is in force */
function fetchSheet(name) {
  const href = new URL(`../style/${name}.css`, import.meta.url).href;
  return new Promise((done, failed) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href, onload: () => done(), onerror: () => failed(new TypeError(href)) });
    document.head.append(link);
  });
}

/** What has been fetched; null where that failed. @type {import("../vendor/preact.js").Signal<Record<string, Component | null>>} */
const fetched = signal({});

/** @param {string} name */
export const isPage = (name) => name in FETCH;

/** @param {string} name */
async function fetchPage(name) {
  const both = await fetchLate(() => Promise.all([FETCH[name](), fetchPageWords(), SHEETS[name] && fetchSheet(SHEETS[name])]));
  fetched.value = { ...fetched.peek(), [name]: both && both[0] };
}

/** @param {{name: string}} props */
export function Page({ name }) {
  const It = fetched.value[name];
  useEffect(() => {
    if (It === undefined) void fetchPage(name);
  }, [name, It]);
  if (It) return html`<${It} />`;
  if (It === undefined) return html`<p class="waiting" role="status">${t("loading")}</p>`;
  // What a browser failed to fetch once, it may not ask for again: the page is reloaded.
  return html`<div class="empty" role="alert"><p>${t("page.not_fetched")}</p>
    <button type="button" onClick=${() => location.reload()}>${t("retry")}</button></div>`;
}
