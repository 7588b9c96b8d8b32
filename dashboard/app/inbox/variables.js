// The variables of canned replies: filled in where there is something to fill in, and left to be seen where there is not. Pure.

/** @typedef {"contact.name" | "contact.first_name" | "contact.phone" | "agent.name" | "channel.title"} Variable */

const VARIABLE = /\{\{\s*(contact\.name|contact\.first_name|contact\.phone|agent\.name|channel\.title)\s*(?:\|\s*"([^"]*)"\s*)?\}\}/g;

/**
 * @param {string} text @param {Partial<Record<Variable, string | null>>} values
 */
export const fill = (text, values) =>
  text.replace(VARIABLE, (whole, name, otherwise) => values[/** @type {Variable} */ (name)]?.trim() || (otherwise ?? whole));

/** The variables that stand in a text still: it is not to be sent so. @param {string} text */
export const unfilled = (text) => [...new Set([...text.matchAll(VARIABLE)].map(([, name]) => name))];

/**
 * @param {{contact: {name: string | null, phone: string | null}, agent: string | null, channel: string | null}} known
 * @returns {Record<Variable, string | null>}
 */
export function valuesOf({ contact, agent, channel }) {
  const name = contact.name?.trim() || null;
  return { "contact.name": name, "contact.first_name": name?.split(/\s+/)[0] ?? null, "contact.phone": contact.phone, "agent.name": agent, "channel.title": channel };
}

/**
 * The word after a slash before the caret, if one is being typed there: what a canned reply is looked for by.
 * @param {string} before the text before the caret
 */
export function slashed(before) {
  const found = /(?:^|\s)\/([\p{L}\p{N}_-]*)$/u.exec(before);
  return found ? { q: found[1], from: before.length - found[1].length - 1 } : null;
}

/**
 * @template {{shortcut: string, text: string}} T
 * @param {T[]} all @param {string} q @returns {T[]} those whose shortcut begins so before those that merely hold it
 */
export function matching(all, q) {
  const wanted = q.toLocaleLowerCase();
  const rank = (/** @type {T} */ it) =>
    it.shortcut.toLocaleLowerCase().startsWith(wanted) ? 0 : it.shortcut.toLocaleLowerCase().includes(wanted) ? 1 : it.text.toLocaleLowerCase().includes(wanted) ? 2 : 3;
  return all.map((it) => ({ it, at: rank(it) })).filter(({ at }) => at < 3)
    .sort((a, b) => a.at - b.at || (a.it.shortcut < b.it.shortcut ? -1 : 1)).map(({ it }) => it);
}
