// Words of the pages.

import { channels } from "./pages/channels.js";
import { lists } from "./pages/lists.js";
import { overview } from "./pages/overview.js";
import { rules } from "./pages/rules.js";
import { settings } from "./pages/settings.js";
import { values } from "./pages/values.js";
import { webhooks } from "./pages/webhooks.js";

export const pages = { ...settings, ...channels, ...lists, ...overview, ...rules, ...values, ...webhooks };
