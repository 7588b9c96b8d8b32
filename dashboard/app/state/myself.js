// Who sits here, kept as it is: an admin may give them another role, and another window of theirs another name or look.

import { hear } from "./feed.js";
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
  return () => {
    clearTimeout(due);
    end();
  };
}
