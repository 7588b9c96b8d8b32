// The start: who sits here decides what is shown, and the feed runs for as long as somebody does.

import { effect, html, render, untracked } from "./vendor/preact.js";
import { begin as followConversations } from "./state/conversations.js";
import { open as openFeed } from "./state/feed.js";
import { begin as followMyself } from "./state/myself.js";
import { isKnown, look, me } from "./state/session.js";
import { takeUpOwed } from "./state/owed.js";
import { begin as keepShelves } from "./state/shelf.js";
import { followErasures } from "./inbox/desk.js";
import { guard as guardLeaving } from "./inbox/leaving.js";
import { followSettling } from "./inbox/modes.js";
import { followOwed } from "./inbox/unconfirmed.js";
import { guard as guardCovered } from "./parts/covered.js";
import { guard as guardDrops } from "./parts/dropped.js";
import { isLookedAt } from "./parts/looked.js";
import { Shell } from "./shell.js";

/** @type {(() => void)[]} */
let ends = [];
let whose = "";

effect(() => {
  const id = me.value?.id ?? "";
  if (id === whose) return;
  whose = id;
  ends.forEach((end) => end());
  if (id) takeUpOwed();
  ends = id ? [followConversations(), keepShelves(), followMyself(), followSettling(), followErasures(), openFeed(), followOwed()] : [];
});

// All tabs share the session: in another one somebody may have left, come back, or come in as somebody else.
effect(() => {
  if (isLookedAt.value && untracked(() => isKnown.value)) look().catch(() => {});
});

guardLeaving();
guardDrops();
guardCovered();
const root = /** @type {HTMLElement} */ (document.getElementById("app"));
render(html`<${Shell} />`, root);
void look().catch((error) => {
  // Not signed in is no failure; a server that is away is said by the page, which asks again.
  if (error.status !== 401) console.error(error);
});
