// Which keys there are: those that answer now, as each part says them itself, and always those of a conversation.

import { html } from "../vendor/preact.js";
import { Dialog } from "../parts/dialog.js";
import { MOD, bindings } from "../parts/keys.js";
import { t } from "../words/index.js";

/** @typedef {[key: string, words: import("../words/index.js").Key][]} Keys */

/** Keys of an open conversation: who looks for them is often not there yet. @type {Keys} */
const IN_THREAD = [["t", "keys.take"], ["g", "keys.give"], ["r", "keys.reply"], ["R", "keys.quote"], ["n", "keys.note"], ["e", "keys.close"]];

/** Keys of the field and of menus, which no part answers to as a whole. @type {Keys} */
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

/** @param {string[][]} keys each with what it does */
const listed = (keys) => html`<dl class="keys">
  ${keys.map(([key, words]) => html`<div key=${key}><dt>${shown(key).split(" ").map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${words}</dd></div>`)}
</dl>`;

/** @param {{onClose: () => void}} props */
export function Help({ onClose }) {
  return html`<${Dialog} title=${t("keys.title")} onClose=${onClose}>
    ${listed(answering().filter(({ key }) => !IN_THREAD.some(([one]) => one === key)).map(({ key, words }) => [key, words]))}
    <h3>${t("keys.thread")}</h3>
    ${listed(IN_THREAD.map(([key, words]) => [key, t(words)]))}
    <h3>${t("keys.field")}</h3>
    ${listed(IN_FIELD.map(([key, words]) => [key, t(words)]))}
    <p class="hint">${t("keys.not_while_typing")}</p>
  </${Dialog}>`;
}
