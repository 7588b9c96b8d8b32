// What a canned reply leaves open: `{{contact.name}}`, `{{agent.name|"a colleague"}}`. Read as the server reads it, so that
// what is wrong is said while it is written, and filled in for whoever it is for.

export const VARIABLES = ["contact.name", "contact.first_name", "contact.phone", "agent.name", "channel.title"];

/**
 * @typedef {{text: string, name?: string, otherwise?: string | null}} Piece a text, or a variable as it was written
 * @typedef {{pieces: Piece[], fault: {kind: "unknown" | "malformed", text: string} | null}} Reading
 */

/** A variable at the beginning of a text. */
const VARIABLE = /^\{\{\s*([^|}]*?)\s*(?:\|\s*"([^"]*)"\s*)?\}\}/;

/** @param {string} text @returns {Reading} up to the first fault */
export function read(text) {
  /** @type {Piece[]} */
  const pieces = [];
  let rest = text;
  for (;;) {
    const at = rest.indexOf("{{");
    if (at < 0) return { pieces: [...pieces, { text: rest }], fault: null };
    pieces.push({ text: rest.slice(0, at) });
    const [whole, name, otherwise] = VARIABLE.exec(rest.slice(at)) ?? [];
    if (whole === undefined) return { pieces, fault: { kind: "malformed", text: rest.slice(at, at + 40) } };
    if (!VARIABLES.includes(name)) return { pieces, fault: { kind: "unknown", text: whole } };
    pieces.push({ text: whole, name, otherwise: otherwise ?? null });
    rest = rest.slice(at + whole.length);
  }
}

/**
 * The text with what is known. What is not known, and has nothing instead, stays as it was written.
 * @param {string} text @param {Record<string, string | null | undefined>} known by name of the variable
 */
export function fill(text, known) {
  return read(text).pieces.map((piece) => (piece.name === undefined ? piece.text : known[piece.name] || (piece.otherwise ?? piece.text))).join("");
}
