// The pages beside the inbox, by the first word of their path.

import { Settings } from "./settings/settings.js";

/** @type {Record<string, () => any>} */
export const PAGES = {
  settings: Settings,
};
