// What is not kept, of the conversation that is open: the text being written, typing, and who else looks at it.

import { signal } from "../vendor/preact.js";
import { Problem, address, put } from "../wire/api.js";
import { follow } from "../wire/stream.js";

/** @import { Signal } from "../vendor/preact.js" */

/** Presence is forgotten by the server after 30 s. */
const TELL_EVERY_MS = 20_000;

/**
 * @typedef {{turn_id: string, text: string}} Generation
 * @typedef {{id: string, name: string, state: "viewing" | "writing"}} Present
 */

/** @param {string} id of the conversation */
export function watch(id) {
  /** @type {Signal<Generation | null>} */
  const generation = signal(null);
  /** @type {Signal<{part: number, until: string} | null>} */
  const typing = signal(null);
  /** @type {Signal<Present[]>} */
  const present = signal([]);
  /** @type {"viewing" | "writing" | "away"} */
  let mine = document.hidden ? "away" : "viewing";
  let isClosed = false;

  // A page that nobody sees keeps no line open for it: browsers give all pages of a site few lines together.
  /** @type {(() => void) | null} */
  let hangUp = null;
  function listen() {
    if (document.hidden) {
      hangUp?.();
      hangUp = null;
      forget();
    } else hangUp ??= follow(address(`/conversations/${id}/live`), {
      onFrame: ({ type, data }) => {
        if (type === "generation") generation.value = data;
        if (type === "generation_ended" && generation.peek()?.turn_id === data.turn_id) generation.value = null;
        if (type === "typing") typing.value = data;
        if (type === "presence") present.value = data.agents;
      },
      onLost: forget,
      // The conversation is gone, or not ours to see.
      isOver: (problem) => problem.isNotThere || problem.code === "forbidden",
    });
  }
  /** What was being written when the line broke is no longer known. */
  function forget() {
    generation.value = null;
    typing.value = null;
    present.value = [];
  }

  async function tell() {
    try {
      await put(`/conversations/${id}/presence`, { state: mine });
    } catch (error) {
      // Others do not see us for a while: nothing that anybody must act on.
      if (!(error instanceof Problem)) throw error;
    }
  }
  /** @param {typeof mine} state */
  function be(state) {
    // Whoever is hidden stays away, whoever has left has left, and only a change is told.
    if (state === mine || isClosed || (document.hidden && state !== "away")) return;
    mine = state;
    void tell();
  }

  // Who is away is forgotten by itself; and said again, it would hide the same person in another tab.
  const tellIfHere = () => void (mine !== "away" && tell());
  const timer = setInterval(tellIfHere, TELL_EVERY_MS);
  const seen = () => {
    listen();
    be(document.hidden ? "away" : "viewing");
  };
  listen();
  document.addEventListener("visibilitychange", seen);
  tellIfHere();

  function close() {
    be("away");
    isClosed = true;
    clearInterval(timer);
    document.removeEventListener("visibilitychange", seen);
    hangUp?.();
  }
  return { generation, typing, present, be, close };
}

/** @typedef {ReturnType<typeof watch>} Live */
