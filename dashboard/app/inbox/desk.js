// What is being written in each conversation: kept when one looks elsewhere, and when the page is loaded anew.

import { signal } from "../vendor/preact.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Signal } from "../vendor/preact.js" */
/** @import { Suggestion } from "../state/owed.js" */

/** @typedef {{text: string, isNote: boolean, quoted: Wire.Message | null, draft: Suggestion | null, file: File | null}} Desk `draft`: the suggestion that the text began as; a `file` is not kept beyond this page */

/** @type {Desk} */
const CLEAR = { text: "", isNote: false, quoted: null, draft: null, file: null };
/** @type {Map<string, Signal<Desk>>} */
const all = new Map();

/** @param {string} id */
const keyOf = (id) => `baton.desk.${id}`;

/** @param {string} id */
export function deskOf(id) {
  let found = all.get(id);
  if (!found) all.set(id, (found = signal(kept(id))));
  return found;
}

/** @param {string} id @param {Partial<Desk>} change */
export function lay(id, change) {
  const desk = { ...deskOf(id).peek(), ...change };
  // An emptied field is a new beginning: it is no longer the suggestion that was edited.
  if (!desk.text) desk.draft = null;
  deskOf(id).value = desk;
  try {
    if (desk.text || desk.quoted) sessionStorage.setItem(keyOf(id), JSON.stringify({ ...desk, file: null }));
    else sessionStorage.removeItem(keyOf(id));
  } catch {
    // A browser that keeps nothing still has it until the page is left.
  }
}

/** @param {string} id */
export const clear = (id) => lay(id, { ...CLEAR, isNote: deskOf(id).peek().isNote });

/** Adds words to what stands there, rather than lose either. @param {string} id @param {Partial<Desk> & {text: string}} words */
export function put(id, words) {
  const { text } = deskOf(id).peek();
  lay(id, { ...words, text: text.trim() ? `${text.trimEnd()}\n${words.text}` : words.text });
}

/** @param {string} id @returns {Desk} */
function kept(id) {
  try {
    return { ...CLEAR, ...JSON.parse(sessionStorage.getItem(keyOf(id)) ?? "{}") };
  } catch {
    return CLEAR;
  }
}
