// The pages that one goes to: by the rail, and by the palette.

import { filter } from "./state/conversations.js";
import { inboxAt } from "./state/filter.js";
import { seesAllOf } from "./state/session.js";

/** @type {{page: string, words: import("./words/index.js").Key, icon: import("./parts/icon.js").IconName}[]} */
const PLACES = [
  { page: "inbox", words: "nav.inbox", icon: "inbox" },
  { page: "follow-ups", words: "nav.follow_ups", icon: "clock" },
  { page: "dead-letters", words: "nav.dead_letters", icon: "alert" },
  { page: "overview", words: "nav.overview", icon: "chart" },
  { page: "playground", words: "nav.playground", icon: "phone" },
  { page: "settings", words: "nav.settings", icon: "settings" },
];

/** Those of whoever sits here, with their addresses: the playground is of nobody who does not see its channel. */
export const places = () =>
  PLACES.filter(({ page }) => page !== "playground" || seesAllOf(["sandbox"]))
    .map((place) => ({ ...place, href: place.page === "inbox" ? inboxAt(filter.value) : `/${place.page}` }));
