// The conversations this page knows, and the list that is looked at. Both follow the feed.

import { batch, effect, signal, untracked } from "../vendor/preact.js";
import { Problem, get } from "../wire/api.js";
import { hear, keepLoaded, whenBack } from "./feed.js";
import { FIRST, filterOf, isSameFilter } from "./filter.js";
import { route } from "./route.js";
import { me } from "./session.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Signal } from "../vendor/preact.js" */
/** @import { Filter } from "./filter.js" */

/** Of one page of the list. */
const PAGE = 50;
/** Counts are asked for at most this often, however much happens. */
const COUNT_EVERY_MS = 1_000;
/** The order of the list follows the feed at most this often. */
const PLACE_EVERY_MS = 100;
/** So many that nobody looks at are kept before they are forgotten. */
const SPARE = 500;
/** So many rows the list has at most while it is seen from its top. */
const LONG = 500;

/** @type {Map<string, Signal<Wire.Conversation | null>>} */
const known = new Map();

/** As the address of the inbox says it; elsewhere, as it was said last. @type {Signal<Filter>} */
export const filter = signal(FIRST);
/** Ids in the order shown. @type {Signal<string[]>} */
export const list = signal([]);
/** Null: nothing; else why the list could not be loaded. @type {Signal<Problem | null>} */
export const listProblem = signal(null);
/** False until the first page of this filter is there. */
export const isListed = signal(false);
/** Whether there are more than those loaded. */
export const hasMore = signal(false);
/** While true the order of the list waits: a row must not slip away from under the finger that presses it. */
export const isHeld = signal(false);
/** Of the list as it is narrowed, by group; null while it is not known, and during a search. @type {Signal<Wire.Counts | null>} */
export const counts = signal(null);
/** How many need a person, whatever the list is narrowed to. */
export const needed = signal(0);

/** @type {string | null} */
let cursor = null;
let listing = new AbortController();
/** Whether a page of it is under way: what the feed tells meanwhile may be newer than what stands there. */
let isReading = false;
/** What was dropped since that page was asked for. @type {Set<string>} */
const dropped = new Set();

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
  const asked = conversation(id);
  const it = await get(`/conversations/${id}`);
  // Dropped meanwhile, it stays unknown.
  if (known.get(id) === asked) keep(it);
}

/** What the API has just answered is newer than what was known. @param {Wire.Conversation} it */
export function keep(it) {
  const found = conversation(it.id);
  const before = found.peek();
  // Answers and events overtake each other; the one changed last is right.
  if (before && before.updated_at > it.updated_at) return;
  found.value = it.match || !before?.match ? it : { ...it, match: before.match };
}

/** One that was erased: nothing of it is known here any more, either. @param {string} id */
export function drop(id) {
  moved.delete(id);
  if (isReading) dropped.add(id);
  batch(() => {
    const found = known.get(id);
    if (found) found.value = null;
    known.delete(id);
    if (list.peek().includes(id)) list.value = list.peek().filter((other) => other !== id);
  });
  countSoon();
}

/**
 * What an answer says of a conversation without carrying the whole of it. The event with the whole is on its way.
 * @param {string} id @param {Partial<Wire.Conversation>} fields
 */
export function amend(id, fields) {
  const found = conversation(id);
  const before = found.peek();
  if (before) found.value = { ...before, ...fields };
}

/** A label is called otherwise, or is gone, from every conversation at once: no event tells of each. @param {Wire.Event} event */
function relabel({ action, details: { name, was = name } }) {
  if (action === "added") return;
  /** @param {Wire.Conversation} it */
  const relabelled = (it) => ({ ...it, labels: it.labels.flatMap((one) => (one !== was ? [one] : action === "removed" ? [] : [name])) });
  batch(() => {
    for (const [id, it] of moved) moved.set(id, relabelled(it));
    for (const found of known.values()) if (found.peek()?.labels.includes(was)) found.value = relabelled(/** @type {Wire.Conversation} */ (found.peek()));
  });
}

/** Loads the next page of the list. Resolves when there is nothing more to do. */
export async function more() {
  if (!cursor) return;
  const from = cursor;
  cursor = null;
  await page(from, listing.signal);
}

/** Loads the list anew. */
export async function reload() {
  listing.abort();
  listing = new AbortController();
  cursor = null;
  await page(null, listing.signal);
}

/** Tries again what failed: the next page, or the list itself. */
export const again = () => (cursor ? more() : reload());

/** @type {Promise<void> | null} */
let shortening = null;

/**
 * For when the list is seen from its top: one that has grown long begins anew. Whatever is written to comes to the top, so in a
 * page that is open all day it would hold every conversation in the end.
 */
export function shorten() {
  if (list.peek().length <= LONG || shortening) return;
  shortening = reload().finally(() => (shortening = null));
}

/** @param {string | null} from @param {AbortSignal} cancelled */
async function page(from, cancelled) {
  const { q, unread, ...rest } = filter.peek();
  isReading = true;
  dropped.clear();
  try {
    const query = { ...rest, q, unread: unread || null, limit: PAGE, cursor: from };
    /** @type {Wire.Page<Wire.Conversation>} */
    const said = await get("/conversations", query, cancelled);
    if (cancelled.aborted) return;
    const items = said.items.filter((it) => !dropped.has(it.id));
    cursor = said.next_cursor;
    isReading = false;
    batch(() => {
      // What the feed told of one meanwhile goes over what stands on the page.
      for (const it of items) [it, moved.get(it.id)].forEach((one) => one && keep(one));
      const ids = items.map((it) => it.id);
      const before = new Set(list.peek());
      list.value = from ? [...list.peek(), ...ids.filter((id) => !before.has(id))] : ids;
      listProblem.value = null;
      isListed.value = true;
      hasMore.value = cursor !== null;
      place();
    });
    if (!from) forgetSpare();
    // A search that has found nothing so far goes on by itself: nobody scrolls an empty list.
    if (items.length === 0) await more();
  } catch (error) {
    if (cancelled.aborted) return;
    if (!(error instanceof Problem)) throw error;
    cursor = from;
    batch(() => {
      listProblem.value = error;
      // What stands there is of another filter, and would be taken for this one's.
      if (!isListed.peek()) list.value = [];
    });
  } finally {
    if (!cancelled.aborted) isReading = false;
  }
}

/** Drops what neither the list nor the open thread shows, once there is much of it. */
function forgetSpare() {
  if (known.size < list.peek().length + SPARE) return;
  const wanted = new Set(list.peek()).add(route.peek().id ?? "");
  for (const id of known.keys()) if (!wanted.has(id)) known.delete(id);
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
  if (wanted.assignee && wanted.assignee !== "none") {
    const id = wanted.assignee === "me" ? me.peek()?.id : wanted.assignee;
    if (it.assignee?.id !== id) return false;
  }
  if (wanted.unread && it.unread === 0) return false;
  return true;
}

/** Whether a person is needed, as the server's group says it. @param {Wire.Conversation} it */
export const needsPerson = (it) =>
  it.attention !== null || (it.mode === "HUMAN" && it.waiting_since !== null && it.status !== "closed");

/** @param {Wire.Conversation | null} it */
const newest = (it) => it?.last_message?.at ?? it?.created_at ?? "";

/** What the feed told of since the list was last put in order. @type {Map<string, Wire.Conversation>} */
const moved = new Map();
let placing = 0;

function placeSoon() {
  if (!placing) placing = window.setTimeout(place, PLACE_EVERY_MS);
}

/** Puts what changed where it belongs in the list, or takes it out: all at once, however many they are. */
function place() {
  clearTimeout(placing);
  placing = 0;
  // What a search found was found by the server; nothing can be said about it here.
  if (filter.peek().q) return moved.clear();
  if (isHeld.peek() || !isListed.peek()) return placeSoon();
  const changed = [...moved.values()].map((it) => known.get(it.id)?.peek() ?? it);
  // A page that is under way was read before some of it, perhaps: then it is placed once more, on top of that.
  if (!isReading) moved.clear();
  const before = list.peek();
  const stood = new Set(before);
  const touched = new Set(changed.map((it) => it.id));
  const after = before.filter((id) => !touched.has(id));
  changed.filter(belongs).sort((a, b) => (newest(a) < newest(b) ? -1 : 1)).forEach((it) => {
    const mine = newest(it);
    let to = after.findIndex((id) => newest(known.get(id)?.peek() ?? null) < mine);
    // Older than all that is loaded: it stands on a page to come, unless there is none.
    if (to < 0 && hasMore.peek() && !stood.has(it.id)) return;
    if (to < 0) to = after.length;
    after.splice(to, 0, it.id);
    if (!known.has(it.id)) keep(it);
  });
  if (after.length !== before.length || after.some((id, at) => id !== before[at])) list.value = after;
}

let countsDue = 0;
/** They could not be asked for: the numbers shown are of before. */
let areCountsOld = false;
/** Of what the numbers are that stand there, or are on their way. */
let countedOf = FIRST;
/** While they are on their way. @type {AbortController | null} */
let counting = null;
/** Something has happened since they were asked for. */
let isCountWanted = false;

/** Soon, and once for all that happens meanwhile. */
function countSoon() {
  if (countsDue) return;
  countsDue = window.setTimeout(count, COUNT_EVERY_MS);
}

/** The list is another one: its numbers are not those of the last, unless it is only another group of the same. */
function countAnew() {
  const wanted = filter.peek();
  if (!isSameFilter({ ...wanted, group: FIRST.group }, { ...countedOf, group: FIRST.group })) {
    counting?.abort();
    counting = null;
    counts.value = null;
  }
  countedOf = wanted;
  if (wanted.q) countSoon();
  else if (!counting) void count();
}

/** Once at a time: the server counts no faster than it can, and other requests have need of the lines to it. */
async function count() {
  clearTimeout(countsDue);
  countsDue = 0;
  isCountWanted = counting !== null;
  if (counting) return;
  const round = (counting = new AbortController());
  const { signal } = round;
  const wanted = filter.peek();
  const { q, group, unread, ...rest } = wanted;
  const isNarrow = !isSameFilter({ ...wanted, group: FIRST.group }, FIRST);
  try {
    // To count what a search finds is to search all of it, at every event: then there are no numbers.
    const mine = q ? null : get("/conversations/counts", { ...rest, unread: unread || null }, signal);
    const all = isNarrow ? get("/conversations/counts", { status: FIRST.status }, signal) : mine;
    await Promise.all([mine?.then((it) => (counts.value = it)), all?.then((it) => (needed.value = it.needs_you))]);
    areCountsOld = false;
  } catch (error) {
    if (signal.aborted) return;
    // The list tells of trouble; numbers beside it stay as they were.
    if (!(error instanceof Problem)) throw error;
    areCountsOld = true;
  } finally {
    round.abort();
    if (counting === round) {
      counting = null;
      if (isCountWanted) countSoon();
    }
  }
}

/** Begins to follow; returns what ends it. */
export function begin() {
  const ends = [
    effect(() => {
      const { page, query } = route.value;
      const said = filterOf(query);
      if (page === "inbox" && !isSameFilter(said, filter.peek())) filter.value = said;
    }),
    keepLoaded(() => {
      void reload();
      void count();
    }),
    whenBack(() => listProblem.peek() && void again()),
    whenBack(() => areCountsOld && void count()),
    hear((event) => {
      if (event.type === "conversation_erased" && event.conversation_id) return drop(event.conversation_id);
      if (event.type === "label_updated") return relabel(event);
      const it = event.conversation;
      if (!it) return;
      // One that nobody has asked for is kept only if the list has a place for it.
      if (known.has(it.id)) keep(it);
      moved.set(it.id, it);
      placeSoon();
      countSoon();
    }),
    // Another filter is another list.
    effect(() => {
      filter.value;
      untracked(() => {
        isListed.value = false;
        void reload();
        countAnew();
      });
    }),
    () => {
      clearTimeout(placing);
      placing = 0;
      moved.clear();
    },
  ];
  return () => ends.forEach((end) => end());
}
