// What was written here and nobody has confirmed, brought again by itself: under its key it cannot arrive twice.

import { effect, untracked } from "../vendor/preact.js";
import { connection } from "../state/feed.js";
import { isRepeatable } from "../state/owed.js";
import { me } from "../state/session.js";
import { serverNow } from "../wire/server_time.js";
import { isUnclear, mayBe } from "./fates.js";

/** @import { Owed } from "../state/owed.js" */

/**
 * For so long it goes once the line is there again. Later it may no longer fit, and whoever wrote it looks first; unless it
 * stands in the thread, where to bring it again only confirms that.
 */
const FITS_MS = 5 * 60_000;

/**
 * @param {Pick<import("../state/thread.js").Thread, "owed" | "ordered">} thread
 * @param {(it: Owed) => void} bring
 * @returns {() => void} what ends it
 */
export function bringUnconfirmed({ owed, ordered }, bring) {
  let wasLive = false;
  /** Since the line is there: what fails again waits until it is there again, or for somebody. @type {Set<string>} */
  const tried = new Set();
  return effect(() => {
    const isLive = connection.value === "live";
    const isBack = isLive && !wasLive;
    wasLive = isLive;
    if (!isLive) return tried.clear();
    const now = serverNow();
    const mine = ordered.value.filter((other) => other.agent !== null && other.agent.id === me.peek()?.id);
    const due = owed.value.filter((it) => canGo(it, now) && !tried.has(it.key)
      && ((isBack && now - Date.parse(it.at) < FITS_MS) || mine.some((other) => mayBe(it, other) && isItsFile(it, other))));
    due.forEach(({ key }) => tried.add(key));
    untracked(() => due.forEach(bring));
  });
}

/** @param {Owed} it @param {number} now */
const canGo = (it, now) => it.problem !== null && isUnclear(it.problem) && isRepeatable(it, now) && !(it.file && !it.file.blob);

/** @param {Owed} it @param {import("../../types/wire.js").Message} other */
const isItsFile = (it, other) => it.file === null || other.media?.file_name === it.file.name;
