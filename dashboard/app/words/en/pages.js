// Words of the pages beside the inbox: fetched with the first of them.

import { channels } from "./pages/channels.js";
import { lists } from "./pages/lists.js";
import { overview } from "./pages/overview.js";
import { playground } from "./pages/playground.js";
import { rules } from "./pages/rules.js";
import { settings } from "./pages/settings.js";
import { values } from "./pages/values.js";
import { webhooks } from "./pages/webhooks.js";

export const pages = { ...settings, ...channels, ...lists, ...overview, ...playground, ...rules, ...values, ...webhooks };
