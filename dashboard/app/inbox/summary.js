// A message in one line, for lists and quotes: what it is, and what it says. Pure.

/** @import * as Wire from "../../types/wire.js" */

/** Longer than any line shows; what comes after is not worth the work. */
const LINE_MAX = 160;

/**
 * @param {Pick<Wire.Message, "kind" | "text" | "deleted_at" | "media">} message
 * @returns {{kind: string | null, text: string}} `kind` is null where the words need no name before them
 */
export function summary(message) {
  // The text of a file says what it is, for whoever cannot see it; here its kind is named beside.
  const { media } = message;
  const text = oneLine((media ? media.caption || media.transcript : message.text) || "");
  if (message.deleted_at) return { kind: "deleted", text: "" };
  if (message.kind === "text") return text ? { kind: null, text } : { kind: "empty", text: "" };
  if (message.kind === "document" && !text) return { kind: "document", text: message.media?.file_name ?? "" };
  return { kind: message.kind, text };
}

/** @param {string} text */
const oneLine = (text) => text.slice(0, LINE_MAX).replace(/\s+/g, " ").trim();

/**
 * Cuts a text where what was searched for stands in it, so that it can be marked without being markup.
 * @param {string} text @param {string} q
 * @returns {{text: string, isHit: boolean}[]}
 */
export function hits(text, q) {
  const wanted = q.trim().toLocaleLowerCase();
  if (!wanted) return [{ text, isHit: false }];
  const pieces = [];
  const low = text.toLocaleLowerCase();
  // Where lower case is longer than the text itself, places in one are none in the other.
  if (low.length !== text.length) return [{ text, isHit: false }];
  let from = 0;
  for (let at = low.indexOf(wanted); at >= 0; at = low.indexOf(wanted, from)) {
    if (at > from) pieces.push({ text: text.slice(from, at), isHit: false });
    from = at + wanted.length;
    pieces.push({ text: text.slice(at, from), isHit: true });
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isHit: false });
  return pieces;
}
