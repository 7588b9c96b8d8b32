// What is asked for once and used everywhere: who works here, labels, canned replies, channels. A server without one of
// them leaves it empty.

import { computed, signal } from "../vendor/preact.js";
import { Problem, get } from "../wire/api.js";
import { keepLoaded } from "./feed.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Signal } from "../vendor/preact.js" */

/** More than this of one kind is no shelf any more. */
const MAX = 200;

/** @template T @param {string} path */
function shelf(path) {
  /** @type {Signal<T[]>} */
  const items = signal([]);
  async function load() {
    try {
      items.value = (await get(path, { limit: MAX })).items;
    } catch (error) {
      // Names and colours beside the work: without them the work goes on, and the next load brings them.
      if (!(error instanceof Problem)) throw error;
    }
  }
  return { items, load };
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

/** Begins to keep them; returns what ends it. */
export const begin = () => keepLoaded(() => ALL.forEach((one) => void one.load()));
