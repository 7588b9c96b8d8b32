// Who sits here, kept as it is: an admin may give them another role, and another window of theirs another name or look.

import { effect, untracked } from "../vendor/preact.js";
import { hear, loadAnew } from "./feed.js";
import { look, me } from "./session.js";

/** What this window has just changed is told here too: what follows it soon is looked for once. */
const SOON_MS = 500;

/** Begins to follow; returns what ends it. */
export function begin() {
  let due = 0;
  const end = hear((event) => {
    if (due || event.type !== "agent_updated" || event.details.agent_id !== me.peek()?.id) return;
    due = window.setTimeout(() => {
      due = 0;
      // Who can no longer be asked for is shown as that, by whatever is asked for next.
      look().catch(() => {});
    }, SOON_MS);
  });
  /** What they may see and do; told and asked for in several ways. @type {string | null} */
  let before = null;
  const stop = effect(() => {
    const it = me.value;
    if (!it) return;
    const now = JSON.stringify([it.role, it.channels]);
    if (before !== null && now !== before) untracked(loadAnew);
    before = now;
  });
  return () => {
    clearTimeout(due);
    stop();
    end();
  };
}
