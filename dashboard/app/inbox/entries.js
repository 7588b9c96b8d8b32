// What the thread shows, line by line: days, the line above what is new, notes, and words, with the parts of one reply
// together. Pure.

import { isSame } from "./verdicts.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Verdict } from "./verdicts.js" */

/** Words of one writer that follow within this time are one run: the name stands once. */
const RUN_MS = 5 * 60_000;
/** What is no words but something that happened. */
const ASIDES = new Set(["reaction", "poll_vote", "call", "group_invite"]);

/**
 * @typedef {{type: "day", key: string, at: string}} Day
 * @typedef {{type: "new", key: string, count: number}} New
 * @typedef {{type: "event", key: string, event: Wire.Event}} Happened
 * @typedef {{type: "aside", key: string, messages: [Wire.Message], verdict: Verdict | null, verdictCount: number}} Aside
 * @typedef {{type: "words", key: string, messages: Wire.Message[], isFirst: boolean, verdict: Verdict | null, verdictCount: number}} Words
 *   `messages` are the parts of one reply, or one message; `isFirst` in a run of one writer; `verdict` stands below the last of those that share it
 * @typedef {Day | New | Happened | Aside | Words} Entry
 */

/**
 * @param {Wire.Message[]} messages in order
 * @param {{newFrom: number | null, newCount: number, events: Wire.Event[], verdictOf: (it: Wire.Message) => Verdict | null, isEnd: boolean}} given
 *   `events` in order: what is told between the messages; `isEnd`: no messages follow those that are loaded
 * @returns {Entry[]}
 */
export function entries(messages, { newFrom, newCount, events, verdictOf, isEnd }) {
  /** @type {Entry[]} */
  const all = [];
  let today = "";
  let told = 0;
  /** The words before, if nothing but a line or a day stands between. @type {Words | null} */
  let last = null;
  /** @param {string} at */
  const begin = (at) => {
    const on = new Date(at).toDateString();
    if (on === today) return;
    today = on;
    all.push({ type: "day", key: `day ${on}`, at });
  };
  /** @param {string | null} before */
  const tell = (before) => {
    for (; told < events.length && (before === null || events[told].at < before); told++) {
      // What came before all that is loaded belongs to messages that are not.
      if (all.length === 0 && messages.length > 0) continue;
      begin(events[told].at);
      all.push({ type: "event", key: events[told].id, event: events[told] });
      last = null;
    }
  };
  for (const it of messages) {
    tell(it.at);
    begin(it.at);
    if (it.seq === newFrom) all.push({ type: "new", key: "new", count: newCount });
    const before = all.at(-1);
    if (before?.type === "words" && isNextPart(before.messages.at(-1), it)) {
      before.messages.push(it);
      continue;
    }
    const found = verdictOf(it);
    if (ASIDES.has(it.kind)) {
      all.push({ type: "aside", key: it.id, messages: [it], verdict: found, verdictCount: 1 });
      last = null;
      continue;
    }
    const isFirst = !(before?.type === "words" && isRun(before.messages[0], it));
    let count = 1;
    if (last && isSame(last.verdict, found)) {
      count += last.verdictCount;
      last.verdict = null;
    }
    last = { type: "words", key: it.id, messages: [it], isFirst, verdict: found, verdictCount: count };
    all.push(last);
  }
  // What came after all that is loaded belongs to messages that are not.
  if (isEnd) tell(null);
  return all;
}

/** @param {Wire.Message | undefined} before @param {Wire.Message} it */
function isNextPart(before, it) {
  return before !== undefined && before.delivery !== null && it.delivery !== null
    && it.delivery.parts > 1 && it.delivery.parts === before.delivery.parts && it.delivery.part === before.delivery.part + 1
    && it.author === before.author && it.turn_id === before.turn_id;
}

/** @param {Wire.Message} before @param {Wire.Message} it */
function isRun(before, it) {
  return before.author === it.author && before.origin === it.origin && before.agent?.id === it.agent?.id && before.sender?.id === it.sender?.id
    && before.kind !== "note" && it.kind !== "note" && Date.parse(it.at) - Date.parse(before.at) < RUN_MS;
}

/**
 * Where the new ones begin: the first of the last `unread` of the contact's messages that count; null while it is not loaded.
 * @param {Wire.Message[]} messages in order @param {number} unread
 */
export function firstUnread(messages, unread) {
  let left = unread;
  let first = null;
  for (let at = messages.length - 1; at >= 0 && left > 0; at--) {
    const it = messages[at];
    if (it.author !== "contact" || it.kind === "reaction" || it.kind === "poll_vote") continue;
    first = it.seq;
    left--;
  }
  return left === 0 ? first : null;
}
