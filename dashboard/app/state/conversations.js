// The conversations this page knows, and the list that is looked at. Both follow the feed.

import { batch, effect, signal } from "../vendor/preact.js";
import { Problem, get } from "../wire/api.js";
import { hear, keepLoaded } from "./feed.js";
import { me } from "./session.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Signal } from "../vendor/preact.js" */

/**
 * @typedef {"needs_you" | "mine" | "ai" | "all"} Group
 * @typedef {{group: Group, status: Wire.Status | null, channel: string | null, label: string | null, assignee: string | null, unread: boolean, q: string}} Filter
 */

/** Of one page of the list. */
const PAGE = 50;
/** Counts are asked for at most this often, however much happens. */
const COUNT_EVERY_MS = 1_000;

/** @type {Map<string, Signal<Wire.Conversation | null>>} */
const known = new Map();

/** @type {Signal<Filter>} */
export const filter = signal({ group: "all", status: "open", channel: null, label: null, assignee: null, unread: false, q: "" });
/** Ids in the order shown. @type {Signal<string[]>} */
export const list = signal([]);
/** Null: nothing; else why the list could not be loaded. @type {Signal<Problem | null>} */
export const listProblem = signal(null);
/** False until the first page of this filter is there. */
export const isListed = signal(false);
/** @type {Signal<Wire.Counts | null>} */
export const counts = signal(null);

/** @type {string | null} */
let cursor = null;
let listing = new AbortController();

/**
 * One conversation, as it is now and from now on; null while it is not known.
 * @param {string} id
 */
export function conversation(id) {
  let found = known.get(id);
  if (!found) known.set(id, (found = signal(null)));
  return found;
}

/** Asks for one that may not be in the list. @param {string} id */
export async function load(id) {
  keep(await get(`/conversations/${id}`));
}

/** What the API has just answered is newer than what was known. @param {Wire.Conversation} it */
export function keep(it) {
  const found = conversation(it.id);
  const before = found.peek();
  // Answers and events overtake each other; the one changed last is right.
  if (before && before.updated_at > it.updated_at) return;
  found.value = it.match || !before?.match ? it : { ...it, match: before.match };
}

/** Loads the next page of the list. Resolves when there is nothing more to do. */
export async function more() {
  if (!cursor) return;
  const from = cursor;
  cursor = null;
  await page(from, listing.signal);
}

async function reload() {
  listing.abort();
  listing = new AbortController();
  cursor = null;
  await page(null, listing.signal);
}

/** @param {string | null} from @param {AbortSignal} cancelled */
async function page(from, cancelled) {
  const { q, unread, ...rest } = filter.peek();
  try {
    const query = { ...rest, q, unread: unread || null, limit: PAGE, cursor: from };
    /** @type {Wire.Page<Wire.Conversation>} */
    const { items, next_cursor } = await get("/conversations", query, cancelled);
    if (cancelled.aborted) return;
    cursor = next_cursor;
    batch(() => {
      items.forEach(keep);
      const ids = items.map((it) => it.id);
      list.value = from ? [...list.peek(), ...ids.filter((id) => !list.peek().includes(id))] : ids;
      listProblem.value = null;
      isListed.value = true;
    });
  } catch (error) {
    if (cancelled.aborted) return;
    if (!(error instanceof Problem)) throw error;
    cursor = from;
    listProblem.value = error;
  }
}

/** Whether the list that is looked at shows it. @param {Wire.Conversation} it */
function belongs(it) {
  const wanted = filter.peek();
  if (wanted.group === "needs_you" && !needsPerson(it)) return false;
  if (wanted.group === "mine" && (!it.assignee || it.assignee.id !== me.peek()?.id)) return false;
  if (wanted.group === "ai" && it.mode !== "AI") return false;
  if (wanted.status && it.status !== wanted.status) return false;
  if (wanted.channel && it.channel !== wanted.channel) return false;
  if (wanted.label && !it.labels.includes(wanted.label)) return false;
  if (wanted.assignee === "none" && it.assignee) return false;
  if (wanted.unread && it.unread === 0) return false;
  return true;
}

/** Whether a person is needed, as the server's group says it. @param {Wire.Conversation} it */
export const needsPerson = (it) =>
  it.attention !== null || (it.mode === "HUMAN" && it.waiting_since !== null && it.status !== "closed");

/** @param {Wire.Conversation | null} it */
const newest = (it) => it?.last_message?.at ?? it?.created_at ?? "";

/** Puts a conversation where it belongs in the list, or takes it out. @param {Wire.Conversation} it */
function place(it) {
  // What a search found was found by the server; nothing can be said about it here.
  if (filter.peek().q || !isListed.peek()) return;
  const ids = list.peek();
  const at = ids.indexOf(it.id);
  if (!belongs(it)) {
    if (at >= 0) list.value = ids.filter((id) => id !== it.id);
    return;
  }
  const others = at >= 0 ? ids.filter((id) => id !== it.id) : ids;
  const mine = newest(it);
  let to = others.findIndex((id) => newest(conversation(id).peek()) < mine);
  // Older than all that is loaded: it stands on a page to come, unless there is none.
  if (to < 0 && cursor && at < 0) return;
  if (to < 0) to = others.length;
  if (to === at) return;
  list.value = [...others.slice(0, to), it.id, ...others.slice(to)];
}

let countsDue = 0;
/** Soon, and once for all that happens meanwhile. */
function countSoon() {
  if (countsDue) return;
  countsDue = window.setTimeout(count, COUNT_EVERY_MS);
}

async function count() {
  clearTimeout(countsDue);
  countsDue = 0;
  const { status, channel } = filter.peek();
  try {
    counts.value = await get("/conversations/counts", { status, channel });
  } catch (error) {
    // The list tells of trouble; numbers beside it stay as they were.
    if (!(error instanceof Problem)) throw error;
  }
}

/** Begins to follow; returns what ends it. */
export function begin() {
  const ends = [
    keepLoaded(() => {
      void reload();
      void count();
    }),
    hear((event) => {
      const it = event.conversation;
      if (!it) return;
      batch(() => {
        keep(it);
        place(it);
      });
      countSoon();
    }),
    // Another filter is another list.
    effect(() => {
      filter.value;
      isListed.value = false;
      void reload();
      countSoon();
    }),
  ];
  return () => ends.forEach((end) => end());
}
