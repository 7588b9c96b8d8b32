// Português do Brasil: todas as chaves que há em inglês; um teste confere.

import { answering } from "./pt/answering.js";
import { channels } from "./pt/channels.js";
import { inbox } from "./pt/inbox.js";
import { lists } from "./pt/lists.js";
import { overview } from "./pt/overview.js";
import { playground } from "./pt/playground.js";
import { rules } from "./pt/rules.js";
import { settings } from "./pt/settings.js";
import { shell } from "./pt/shell.js";
import { story } from "./pt/story.js";
import { values } from "./pt/values.js";

export const pt = { ...shell, ...values, ...inbox, ...answering, ...story, ...settings, ...channels, ...rules, ...lists, ...overview, ...playground };
