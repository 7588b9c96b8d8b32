// What is being written in each conversation: kept when one looks elsewhere, and when the page is loaded anew.

import { signal } from "../vendor/preact.js";
import { hear } from "../state/feed.js";
import { setOwed } from "../state/owed.js";
import { me } from "../state/session.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Signal } from "../vendor/preact.js" */
/** @import { Owed, Suggestion } from "../state/owed.js" */

/** @typedef {{text: string, isNote: boolean, quoted: Wire.Message | null, draft: Suggestion | null, file: File | null, lost: string | null}} Desk `draft`: the suggestion that the text began as; a `file` is not kept beyond this page, and `lost` is the name of one that was not */

/** @type {Desk} */
const CLEAR = { text: "", isNote: false, quoted: null, draft: null, file: null, lost: null };
/** @type {Map<string, Signal<Desk>>} */
const all = new Map();

/** A tab may be somebody else's next. @param {string} id */
const keyOf = (id) => `baton.desk.${me.peek()?.id ?? ""}.${id}`;

/** @param {string} id */
export function deskOf(id) {
  let found = all.get(id);
  if (!found) all.set(id, (found = signal(kept(id))));
  return found;
}

/** Whether anything stands in a field, anywhere. */
export const isAnyWritten = () => [...all.values()].some((it) => it.peek().text.trim() !== "" || it.peek().file !== null);

/** The note beside the thread is another text than that below it, and has a desk of its own. @param {string} id */
export const beside = (id) => `${id}.beside`;

/** @param {string} id @param {Partial<Desk>} change */
export function lay(id, change) {
  const desk = { ...deskOf(id).peek(), ...change };
  // An emptied field is a new beginning: it is no longer the suggestion that was edited.
  if (!desk.text) desk.draft = null;
  if (desk.file) desk.lost = null;
  const lost = desk.file?.name ?? desk.lost;
  deskOf(id).value = desk;
  try {
    if (desk.text || desk.quoted || lost) sessionStorage.setItem(keyOf(id), JSON.stringify({ ...desk, file: null, lost }));
    else sessionStorage.removeItem(keyOf(id));
  } catch {
    // A browser that keeps nothing still has it until the page is left.
  }
}

/** @param {string} id */
export const clear = (id) => lay(id, { ...CLEAR, isNote: deskOf(id).peek().isNote });

/** Of what was about to be said to somebody who is erased nothing is kept, wherever one looks; returns what ends it. */
export const followErasures = () => hear(({ type, conversation_id: id }) => {
  if (type !== "conversation_erased" || !id) return;
  clear(id);
  clear(beside(id));
  setOwed(id, []);
});

/**
 * Adds words to what stands there, rather than lose either. Where one of both is a note, both are: a note is for no contact.
 * @param {string} id @param {Partial<Desk> & {text: string}} words
 */
export function put(id, words) {
  const { text, isNote, quoted, file } = deskOf(id).peek();
  const stands = text.trim() !== "";
  lay(id, {
    ...words, quoted: words.quoted ?? quoted, file: words.file ?? file,
    isNote: Boolean(words.isNote) || (stands && isNote), text: stands ? `${text.trimEnd()}\n${words.text}` : words.text,
  });
}

/** What was refused, to be changed. @param {string} id @param {Owed} it */
export function putBack(id, { text, quoted, draft, kind, file, problem }) {
  // A suggestion that somebody has sent meanwhile, or that is not there any more, is none: under it nothing goes, whatever is written.
  const isOver = problem?.code === "already_sent" || problem?.isNotThere;
  const isGone = problem?.code === "file_unreadable";
  put(id, { text, quoted, draft: isOver ? null : draft, isNote: kind === "note", file: isGone ? null : file?.blob ?? null });
}

/**
 * For words to the contact. Those of a note never become that by the way: while it stands there, nothing is changed.
 * @param {string} id @param {Partial<Desk>} [change]
 * @returns {boolean} whether it could be
 */
export function turnToContact(id, change = {}) {
  const { isNote, text } = deskOf(id).peek();
  if (isNote && text.trim()) return false;
  lay(id, { ...change, isNote: false });
  return true;
}

/**
 * A suggestion of the AI, to be changed before it is sent. What was typed stays, and what was made of a suggestion; only one
 * that nobody has changed makes room for another.
 * @param {string} id @param {Suggestion} draft
 * @returns {boolean} whether it could be: not while a note stands there
 */
export function takeUp(id, draft) {
  // Whoever sends it answers with the suggestion, which quotes nothing.
  if (!turnToContact(id, { quoted: null })) return false;
  const { text, draft: before } = deskOf(id).peek();
  if (before?.id === draft.id) return true;
  if (before?.text === text) lay(id, { text: "" });
  put(id, { text: draft.text, draft });
  return true;
}

/**
 * The suggestion that what stands there goes as. With a file or a quote it is none: whoever sends a suggestion sends neither,
 * and they would be left behind unseen.
 * @param {Desk} desk
 */
export const draftOf = ({ isNote, file, quoted, draft }) => (isNote || file || quoted ? null : draft);

/**
 * What is let go of first by who wants to leave the field; null: nothing, the field is left. The words stay what they are.
 * @param {Desk} desk @returns {Partial<Desk> | null}
 */
export function letGo(desk) {
  // What goes with words to the contact is not seen beside a note.
  if (desk.isNote) return desk.text.trim() ? null : { isNote: false };
  if (desk.quoted) return { quoted: null };
  return desk.file ? { file: null } : null;
}

/** @param {string} id @returns {Desk} */
function kept(id) {
  try {
    return { ...CLEAR, ...JSON.parse(sessionStorage.getItem(keyOf(id)) ?? "{}") };
  } catch {
    return CLEAR;
  }
}
