// What is asked for once and used everywhere: who works here, labels, canned replies, channels. A server without one of
// them leaves it empty.

import { computed, signal } from "../vendor/preact.js";
import { Problem, get } from "../wire/api.js";
import { hear, keepLoaded, whenBack } from "./feed.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Signal } from "../vendor/preact.js" */

/** However much changes at once, a shelf is loaded again at most this often. */
const AGAIN_MS = 1_000;
/** The most that the API gives at once. */
const PAGE_MAX = 200;

/** All of a list. @param {string} path @returns {Promise<any[]>} */
async function whole(path) {
  const items = [];
  let cursor = null;
  do {
    /** @type {Wire.Page<any>} */
    const page = await get(path, { limit: PAGE_MAX, cursor });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor);
  return items;
}

/** @template T @param {string} path */
function shelf(path) {
  /** @type {Signal<T[]>} */
  const items = signal([]);
  let isMissing = false;
  /** How many times it was begun to load: what was asked for before the last has read what was, and may come after it. */
  let begun = 0;
  async function load() {
    const mine = (begun += 1);
    try {
      const all = await whole(path);
      if (mine !== begun) return;
      items.value = all;
      isMissing = false;
    } catch (error) {
      // Names and colours beside the work: without them the work goes on, and the next load brings them.
      if (!(error instanceof Problem)) throw error;
      if (mine === begun) isMissing = !error.isNotThere;
    }
  }
  const retry = () => void (isMissing && load());
  let due = 0;
  function loadSoon() {
    if (!due) due = window.setTimeout(() => {
      due = 0;
      void load();
    }, AGAIN_MS);
  }
  return { items, load, retry, loadSoon };
}

/** @type {ReturnType<typeof shelf<Wire.Agent>>} */
export const agents = shelf("/agents");
/** @type {ReturnType<typeof shelf<Wire.Label>>} */
export const labels = shelf("/labels");
/** @type {ReturnType<typeof shelf<Wire.CannedReply>>} */
export const cannedReplies = shelf("/canned-replies");
/** @type {ReturnType<typeof shelf<Wire.Channel>>} */
export const channels = shelf("/channels");

const ALL = [agents, labels, cannedReplies, channels];
const channelByName = computed(() => new Map(channels.items.value.map((it) => [it.name, it])));
const agentById = computed(() => new Map(agents.items.value.map((it) => [it.id, it])));
const labelByName = computed(() => new Map(labels.items.value.map((it) => [it.name, it])));

/** What people call it. @param {string} name */
export const channelTitle = (name) => channelByName.value.get(name)?.title || name;
/** @param {string} id */
export const agentName = (id) => agentById.value.get(id)?.name ?? null;
/** @param {string} name */
export const label = (name) => labelByName.value.get(name) ?? null;

/** Which of them an event is about. @type {Record<string, {loadSoon: () => void}>} */
const ABOUT = { agent_updated: agents, label_updated: labels, canned_reply_updated: cannedReplies, channel_updated: channels, channel_state_changed: channels };

/** Begins to keep them; returns what ends it. */
export function begin() {
  const ends = [
    keepLoaded(() => ALL.forEach((one) => void one.load())),
    whenBack(() => ALL.forEach((one) => one.retry())),
    // What somebody keeps in their dashboard is on no shelf.
    hear((event) => event.action !== "preferences" && ABOUT[event.type]?.loadSoon()),
  ];
  return () => ends.forEach((end) => end());
}
