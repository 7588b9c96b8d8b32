// Which keys there are: those that answer now, as each part says them itself.

import { html } from "../vendor/preact.js";
import { Dialog } from "../parts/dialog.js";
import { MOD, bindings } from "../parts/keys.js";
import { t } from "../words/index.js";

/** @typedef {[key: string, words: import("../words/index.js").Key][]} Keys */

/** Keys of the field and of menus, which no part answers to as a whole. @type {[string, import("../words/index.js").Key][]} */
const IN_FIELD = [
  ["/", "keys.field.canned"],
  ["Enter", "keys.field.send"],
  [`${MOD} Enter`, "keys.field.line"],
  ["Esc", "keys.field.leave"],
];

/** Each key once, the newest first: that is the one that answers. */
export function answering() {
  const seen = new Set();
  return bindings.value.filter(({ key }) => !seen.has(key) && seen.add(key));
}

/** @param {string} key as a binding names it */
export const shown = (key) => (key.startsWith("mod+") ? `${MOD} ${key.slice(4).toUpperCase()}` : /^[A-Z]$/.test(key) ? `⇧ ${key}` : key);

/** @param {{onClose: () => void}} props */
export function Help({ onClose }) {
  return html`<${Dialog} title=${t("keys.title")} onClose=${onClose}>
    <dl class="keys">
      ${answering().map(({ key, words }) => html`<div key=${key}><dt>${shown(key).split(" ").map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${words}</dd></div>`)}
    </dl>
    <h3>${t("keys.field")}</h3>
    <dl class="keys">
      ${IN_FIELD.map(([key, words]) => html`<div key=${words}><dt>${key.split(" ").map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${t(words)}</dd></div>`)}
    </dl>
    <p class="hint">${t("keys.not_while_typing")}</p>
  </${Dialog}>`;
}
