// The pages beside the inbox, by the first word of their path.

import { Playground } from "../playground/playground.js";
import { Settings } from "./settings/settings.js";

/** @type {Record<string, () => any>} */
export const PAGES = {
  playground: Playground,
  settings: Settings,
};
