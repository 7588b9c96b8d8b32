// The live feed of events: what changes anywhere arrives here, once, in order, and is handed to whoever keeps something.
//
// It opens before anything is loaded. So what is loaded after `hello` and what the feed tells overlap, and nothing is missed.

import { effect, signal, untracked } from "../vendor/preact.js";
import { address } from "../wire/api.js";
import { followTogether } from "../wire/together.js";
import { me } from "./session.js";

/** @import * as Wire from "../../types/wire.js" */

/** @type {import("../vendor/preact.js").Signal<"connecting" | "live" | "reconnecting">} */
export const connection = signal("connecting");

/** @type {Set<(event: Wire.Event) => void>} */
const listeners = new Set();
/** @type {Set<() => void>} */
const loaders = new Set();
let isOpen = false;

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
    onOpen: () => {
      connection.value = "live";
    },
    onLost: () => {
      connection.value = "reconnecting";
    },
    onFrame: ({ type, data }) => {
      if (type === "resync" || (type === "hello" && !isOpen)) {
        isOpen = true;
        loadAnew();
      } else if (type !== "hello") {
        listeners.forEach((listener) => listener(data));
      }
    },
  });
  return () => {
    close();
    isOpen = false;
    connection.value = "connecting";
  };
}
