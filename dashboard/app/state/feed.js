// The live feed of events: what changes anywhere arrives here, once, in order, and is handed to whoever keeps something.
//
// It opens before anything is loaded. So what is loaded after `hello` and what the feed tells overlap, and nothing is missed.

import { effect, signal, untracked } from "../vendor/preact.js";
import { address } from "../wire/api.js";
import { followTogether } from "../wire/together.js";
import { me } from "./session.js";

/** @import * as Wire from "../../types/wire.js" */

/** @typedef {"connecting" | "live" | "reconnecting" | "mute"} Line `mute`: it is there, and nothing comes through it */

/** @type {import("../vendor/preact.js").Signal<Line>} */
export const connection = signal("connecting");
/** What is said of it. Some proxies cut every line after a while: one that is there again at once is no news for anybody. */
export const told = signal(connection.peek());
const BRIEF_MS = 3_000;
/** One that was mute takes its time to be found so again. */
const BRIEF_MUTE_MS = 10_000;
let tellDue = 0;

/** @param {Line} line */
function turn(line) {
  if (line === "reconnecting" && connection.peek() === "reconnecting") return;
  connection.value = line;
  clearTimeout(tellDue);
  if (line !== "reconnecting") told.value = line;
  else tellDue = window.setTimeout(() => (told.value = "reconnecting"), told.peek() === "mute" ? BRIEF_MUTE_MS : BRIEF_MS);
}

/** @type {Set<(event: Wire.Event) => void>} */
const listeners = new Set();
/** @type {Set<() => void>} */
const loaders = new Set();
let isOpen = false;
/** Whether something may have been missed, since nothing came through. */
let isDeaf = false;

/**
 * Hears every event from now on.
 * @param {(event: Wire.Event) => void} listener
 * @returns {() => void} hears no more
 */
export function hear(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Loads now, once the feed is open, and again whenever a gap could not be filled.
 * @param {() => void} loader
 * @returns {() => void} is not asked again
 */
export function keepLoaded(loader) {
  loaders.add(loader);
  if (isOpen) loader();
  return () => loaders.delete(loader);
}

/** Loads all of it again: what may be seen is not what it was. */
export const loadAnew = () => loaders.forEach((load) => load());

/**
 * Tries again whenever the line is there again. One that goes on where it broke tells of no gap, and so loads nothing: what
 * failed to load meanwhile would stay failed.
 * @param {() => void} retry
 * @returns {() => void} is not asked again
 */
export const whenBack = (retry) => effect(() => {
  if (connection.value === "live") untracked(retry);
});

/** Opens the feed; returns what closes it. */
export function open() {
  // What one person may see is not what another may.
  const close = followTogether(`baton.feed.${me.peek()?.id ?? ""}`, address("/events", { include: "conversation,message" }), {
    onOpen: () => turn("live"),
    onLost: () => turn("reconnecting"),
    // Rather what stands there now than nothing; and again at every further try, which are the news that there are.
    onMute: () => {
      turn("mute");
      isOpen = isDeaf = true;
      loadAnew();
    },
    onFrame: ({ type, data }) => {
      if (type === "resync" || (type === "hello" && (!isOpen || isDeaf))) {
        isOpen = true;
        isDeaf = false;
        loadAnew();
      } else if (type !== "hello") {
        listeners.forEach((listener) => listener(data));
      }
    },
  });
  return () => {
    close();
    isOpen = isDeaf = false;
    turn("connecting");
  };
}
