// The picture of a race: who did what when, in four lanes. Here is only where everything stands. Pure.

/** @import * as Wire from "../../types/wire.js" */

/** @typedef {"contact" | "assistant" | "agent" | "provider"} Lane */
/** @type {Lane[]} */
export const LANES = ["contact", "assistant", "agent", "provider"];

/** So many messages at most, and none before a silence like this: one exchange, not a history. */
const MESSAGES_MAX = 14;
const SILENCE_MS = 15 * 60_000;
/** A time in which nothing happens is drawn no wider than this much of it. */
const STRETCH_MS = 12_000;
/** Marks in one lane stand at least so far from each other. */
const APART_PX = 7;

/**
 * @typedef {{
 *   kind: "message" | "writing" | "sent" | "withdrawn" | "unclear" | "refused" | "switch",
 *   lane: Lane | null, at: number, until: number | null, isCut: boolean, to: string | null, message: string | null,
 * }} Item
 *   `lane` is null for a switch, which goes through all; `isCut`: the writing was stopped; `to` of a switch is the mode
 * @typedef {Item & {x: number, x2: number | null}} Placed
 * @typedef {{items: Placed[], breaks: {x: number, ms: number}[], from: number, to: number}} Plan
 */

/**
 * @param {{messages: Wire.Message[], turns: Wire.Turn[], events: Wire.Event[], now: number}} given `messages` in order
 * @param {number} width
 * @returns {Plan | null} null: there is nothing to draw
 */
export function plan({ messages, turns, events, now }, width) {
  const shown = exchange(messages.filter((it) => it.kind !== "note" && it.kind !== "reaction"));
  if (shown.length === 0) return null;
  const begin = Date.parse(shown[0].at);
  /** @type {Item[]} */
  const items = [
    ...shown.flatMap(ofMessage),
    ...turns.filter((it) => Date.parse(it.ended_at ?? it.started_at) >= begin).map((it) => ofTurn(it, now)),
    ...events.filter((it) => Date.parse(it.at) >= begin).flatMap(ofEvent),
  ].sort((a, b) => a.at - b.at);
  const place = scale(items.flatMap((it) => (it.until === null ? [it.at] : [it.at, it.until])), width);
  return {
    items: apart(items.map((it) => ({ ...it, x: place.x(it.at), x2: it.until === null ? null : place.x(it.until) }))),
    breaks: place.breaks, from: place.from, to: place.to,
  };
}

/** The last ones that belong together. @param {Wire.Message[]} messages */
function exchange(messages) {
  let from = messages.length;
  while (from > 0 && messages.length - from < MESSAGES_MAX) {
    const gap = from < messages.length ? Date.parse(messages[from].at) - Date.parse(messages[from - 1].at) : 0;
    if (gap > SILENCE_MS) break;
    from--;
  }
  return messages.slice(from);
}

/** @type {Omit<Item, "kind" | "at">} */
const PLAIN = { lane: null, until: null, isCut: false, to: null, message: null };

/** @param {Wire.Message} it @returns {Item[]} */
function ofMessage(it) {
  /** @type {Item[]} */
  const all = [];
  // What the assistant says is drawn as the time it wrote; the others' messages are a moment.
  if (it.author === "contact") all.push({ ...PLAIN, kind: "message", lane: "contact", at: Date.parse(it.at), message: it.id });
  if (it.author === "agent") all.push({ ...PLAIN, kind: "message", lane: "agent", at: Date.parse(it.at), message: it.id });
  const { delivery } = it;
  if (delivery?.sent_at) all.push({ ...PLAIN, kind: "sent", lane: "provider", at: Date.parse(delivery.sent_at), message: it.id });
  else if (delivery?.state === "unknown") all.push({ ...PLAIN, kind: "unclear", lane: "provider", at: Date.parse(it.at), message: it.id });
  else if (delivery?.state === "failed" || delivery?.state === "dead") all.push({ ...PLAIN, kind: "refused", lane: "provider", at: Date.parse(it.at), message: it.id });
  return all;
}

/** @param {Wire.Turn} it @param {number} now @returns {Item} */
const ofTurn = (it, now) => ({
  ...PLAIN, kind: "writing", lane: "assistant", at: Date.parse(it.started_at), until: it.ended_at ? Date.parse(it.ended_at) : now,
  isCut: ["cancelled", "superseded", "failed"].includes(it.state), to: it.state,
});

/** @param {Wire.Event} it @returns {Item[]} */
function ofEvent(it) {
  const at = Date.parse(it.at);
  if (it.type === "mode_changed") return [{ ...PLAIN, kind: "switch", at, to: String(it.details.to) }];
  if ((it.type === "mode_change_before_send" || it.type === "message_cancelled") && it.message_id) return [{ ...PLAIN, kind: "withdrawn", lane: "provider", at, message: it.message_id }];
  return [];
}

/** Marks of one moment stand beside each other, or they would look like one. @param {Placed[]} items in order */
function apart(items) {
  /** @type {Map<Lane, number>} */
  const last = new Map();
  return items.map((it) => {
    if (it.lane === null || it.kind === "writing") return it;
    const x = Math.max(it.x, (last.get(it.lane) ?? -Infinity) + APART_PX);
    last.set(it.lane, x);
    return { ...it, x };
  });
}

/**
 * Where a time stands. Long silences are squeezed, and said to be.
 * @param {number[]} times @param {number} width
 */
function scale(times, width) {
  const all = [...new Set(times)].sort((a, b) => a - b);
  /** How far along each stands, in squeezed milliseconds. @type {Map<number, number>} */
  const along = new Map([[all[0], 0]]);
  const silences = [];
  let sum = 0;
  for (let at = 1; at < all.length; at++) {
    const gap = all[at] - all[at - 1];
    const drawn = Math.min(gap, STRETCH_MS);
    if (gap > drawn) silences.push({ middle: sum + drawn / 2, ms: gap });
    sum += drawn;
    along.set(all[at], sum);
  }
  const x = (/** @type {number} */ value) => (sum === 0 ? width / 2 : (value / sum) * width);
  return {
    x: (/** @type {number} */ at) => x(along.get(at) ?? 0),
    breaks: silences.map(({ middle, ms }) => ({ x: x(middle), ms })),
    from: all[0], to: all[all.length - 1],
  };
}
