// What this page is about to bring to the server and has no answer for yet. It outlives the thread that is open and a
// reload of the page: a text that was sent is never silently gone.

import { signal } from "../vendor/preact.js";
import { Problem } from "../wire/api.js";
import { me } from "./session.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Signal } from "../vendor/preact.js" */

/**
 * A suggestion of the AI, as it was taken up.
 * @typedef {{id: string, text: string}} Suggestion
 *
 * A file to send; `blob` is gone when the page was loaded anew.
 * @typedef {{name: string, size: number, blob: File | null}} Enclosed
 *
 * What we are about to send: shown at once, and never as more than it is.
 * @typedef {{
 *   key: string, kind: "text" | "note" | "draft", text: string, draft: Suggestion | null, quoted: Wire.Message | null, file: Enclosed | null,
 *   at: string, after: number, force: boolean, problem: Problem | null,
 * }} Owed
 *   `key` makes a second try safe. `after` is the newest sequence number known when it was written. `draft` is the suggestion
 *   that it began as; `force`: it goes although that is no longer fresh, at every further try too, or it would be another request.
 */

/**
 * For so long the server certainly knows the key of what it has taken; it keeps them for a day. After that a second try would
 * be another message.
 */
const REPEATABLE_MS = 23 * 3_600_000;

/** Whether it can be tried again without arriving twice. @param {Owed} it @param {number} now */
export const isRepeatable = (it, now) => now - Date.parse(it.at) < REPEATABLE_MS;

/** Whose it is: whoever is signed out meanwhile comes back to it. @type {Map<string, string>} */
const keys = new Map();

/** A tab may be somebody else's next. @param {string} id */
const keyOf = (id) => keys.get(id) ?? prefix() + id;
const prefix = () => `baton.owed.${me.peek()?.id ?? ""}.`;

/** @type {Map<string, Signal<Owed[]>>} */
const all = new Map();

/** What is owed in one conversation. @param {string} id */
export function owedOf(id) {
  let found = all.get(id);
  if (!found) all.set(id, (found = signal(kept(id))));
  return found;
}

/** Whether something was written there that the server has not confirmed, and nobody is bringing it any more. @param {string} id */
export const isUnsent = (id) => owedOf(id).value.some((it) => it.problem !== null);

/** Whether anything is not confirmed, anywhere. */
export const isAnyOwed = () => [...all.values()].some((it) => it.peek().length > 0);

/** Where anything is owed. @type {Signal<Set<string>>} */
const owing = signal(new Set());

/** All that whoever sits here owes, in all conversations: what somebody left who was here before is not theirs to bring. */
export function owedByMe() {
  const mine = prefix();
  return [...owing.value].filter((id) => keyOf(id).startsWith(mine)).flatMap((id) => owedOf(id).value.map((it) => ({ id, it })));
}

/** Takes up what the page that was here before has left behind, also where nobody looks. */
export function takeUpOwed() {
  const mine = prefix();
  try {
    const left = Array.from({ length: sessionStorage.length }, (_, at) => sessionStorage.key(at) ?? "").filter((key) => key.startsWith(mine));
    left.forEach((key) => note(key.slice(mine.length)));
  } catch {
    // A browser that keeps nothing has nothing left.
  }
}

/** @param {string} id */
function note(id) {
  const isOwing = owedOf(id).peek().length > 0;
  if (isOwing === owing.peek().has(id)) return;
  const now = new Set(owing.peek());
  if (isOwing) now.add(id);
  else now.delete(id);
  owing.value = now;
}

/** @param {string} id @param {Owed[]} items */
export function setOwed(id, items) {
  owedOf(id).value = items;
  const key = keyOf(id);
  note(id);
  if (items.length > 0) keys.set(id, key);
  else keys.delete(id);
  try {
    const plain = items.map((it) => ({ ...it, file: it.file && { ...it.file, blob: null } }));
    if (items.length > 0) sessionStorage.setItem(key, JSON.stringify(plain));
    else sessionStorage.removeItem(key);
  } catch {
    // A browser that keeps nothing still shows it until the page is left.
  }
}

/** What the page that was here before left behind: nobody knows whether it arrived. @param {string} id @returns {Owed[]} */
function kept(id) {
  try {
    const key = keyOf(id);
    /** @type {Owed[]} */
    const items = JSON.parse(sessionStorage.getItem(key) ?? "[]");
    if (items.length > 0) keys.set(id, key);
    return items.map((it) => ({ ...it, problem: new Problem({ status: 0, code: "interrupted" }) }));
  } catch {
    return [];
  }
}
