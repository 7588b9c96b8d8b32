// What was written here and nobody has confirmed, brought again by itself, whatever is open: under its key it cannot arrive twice.

import { effect, signal, untracked } from "../vendor/preact.js";
import { bring } from "../state/bringing.js";
import { connection } from "../state/feed.js";
import { isRepeatable, owedByMe } from "../state/owed.js";
import { me } from "../state/session.js";
import { serverNow } from "../wire/server_time.js";
import { isUnclear, mayBe } from "./fates.js";
import { opened } from "./opened.js";
import { sayElsewhere, seeThrough } from "./saying.js";

/** @import { Owed } from "../state/owed.js" */

/**
 * For so long it goes once the line is there again. Later it may no longer fit, and whoever wrote it looks first; unless it
 * stands in the thread, where to bring it again only confirms that.
 */
const FITS_MS = 5 * 60_000;
/** While the line is there, what failed by itself is brought again after so long, and after twice as long each further time. */
const AGAIN_MS = 10_000;

/** Begins; returns what ends it. */
export function followOwed() {
  let wasLive = false;
  /** Since the line is there: when each is due again, and how long that was put off. @type {Map<string, {at: number, wait: number}>} */
  const next = new Map();
  /** Those that were found in the thread since then. @type {Set<string>} */
  const found = new Set();
  const looks = signal(0);
  let timer = 0;
  const stop = effect(() => {
    looks.value;
    const isThere = connection.value === "live" || connection.value === "mute";
    const isBack = isThere && !wasLive;
    wasLive = isThere;
    clearTimeout(timer);
    if (!isThere) return void (next.clear(), found.clear());
    const now = serverNow();
    const unclear = owedByMe().filter(({ it }) => canGo(it, now));
    const fitting = unclear.filter(({ it }) => now - Date.parse(it.at) < FITS_MS);
    for (const { it } of unclear) if (!next.has(it.key)) next.set(it.key, { at: isBack ? now : now + AGAIN_MS, wait: AGAIN_MS });
    const dueAt = (/** @type {Owed} */ it) => next.get(it.key)?.at ?? Infinity;
    const standing = unclear.filter(({ id, it }) => !found.has(it.key) && stands(id, it));
    const due = new Set([...standing, ...fitting.filter(({ it }) => dueAt(it) <= now)]);
    standing.forEach(({ it }) => found.add(it.key));
    for (const { it } of due) {
      const wait = 2 * (next.get(it.key)?.wait ?? AGAIN_MS);
      next.set(it.key, { at: now + wait, wait });
    }
    const soonest = Math.min(...fitting.map(({ it }) => dueAt(it)));
    if (Number.isFinite(soonest)) timer = window.setTimeout(() => (looks.value += 1), soonest - now);
    untracked(() => {
      due.forEach(({ id, it }) => void again(id, it, !isBack));
      // What no longer fits waits for whoever wrote it, who may be elsewhere and not know.
      if (isBack) unclear.filter((one) => !due.has(one)).forEach(({ id }) => sayElsewhere(id));
    });
  });
  return () => (clearTimeout(timer), stop());
}

/** @param {string} id @param {Owed} it @param {boolean} isQuiet */
function again(id, it, isQuiet) {
  const open = opened.peek();
  return seeThrough(id, open?.id === id ? open.thread.bring(it) : bring(id, it), isQuiet);
}

/** Whether it may be one of those that are seen in the thread. @param {string} id @param {Owed} it */
function stands(id, it) {
  const messages = opened.value?.id === id ? opened.value.thread.ordered.value : [];
  return messages.some((other) => other.agent !== null && other.agent.id === me.peek()?.id && mayBe(it, other) && isItsFile(it, other));
}

/** @param {Owed} it @param {number} now */
const canGo = (it, now) => it.problem !== null && isUnclear(it.problem) && isRepeatable(it, now) && !(it.file && !it.file.blob);

/** @param {Owed} it @param {import("../../types/wire.js").Message} other */
const isItsFile = (it, other) => it.file === null || other.media?.file_name === it.file.name;
