// Brings a message into view, loading what stands around it if need be, and marks it for a moment.

import { say } from "../parts/toast.js";
import { t } from "../words/index.js";

const MARKED_MS = 1_600;
/** Tried for so many frames: what was loaded has to be drawn first. */
const FRAMES = 30;
/** A quote names no place: so many pages are looked through for it. */
const PAGES_BACK = 10;

/** @import { Thread } from "../state/thread.js" */

/** @param {Thread} thread @param {number} seq */
export async function toMessage(thread, seq) {
  if (!thread.messages.peek().has(seq)) await thread.around(seq);
  show(seq, FRAMES);
}

/** The message that a quote names, looked for backwards. @param {Thread} thread @param {string | null} id */
export async function toQuoted(thread, id) {
  for (let page = 0; page <= PAGES_BACK; page++) {
    const found = thread.ordered.peek().find((it) => it.id === id);
    if (found) return show(found.seq, FRAMES);
    if (!thread.hasOlder.peek() || thread.problem.peek()) break;
    await thread.older();
  }
  say(t("bubble.quoted_far"));
}

/** @param {number} seq @param {number} frames */
function show(seq, frames) {
  const shown = document.getElementById(`message-${seq}`);
  if (!shown) {
    if (frames > 0) requestAnimationFrame(() => show(seq, frames - 1));
    return;
  }
  shown.scrollIntoView({ block: "center" });
  shown.classList.add("is-marked");
  shown.focus({ preventScroll: true });
  setTimeout(() => shown.classList.remove("is-marked"), MARKED_MS);
}
