// The pages beside the inbox, by the first word of their path.

import { Playground } from "../playground/playground.js";
import { DeadLetters } from "./dead_letters.js";
import { FollowUps } from "./follow_ups.js";
import { Overview } from "./overview/overview.js";
import { Settings } from "./settings/settings.js";

/** @type {Record<string, () => any>} */
export const PAGES = {
  "dead-letters": DeadLetters,
  "follow-ups": FollowUps,
  overview: Overview,
  playground: Playground,
  settings: Settings,
};
