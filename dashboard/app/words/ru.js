// Русский: все ключи, какие есть в английском; это проверяет тест.

import { answering } from "./ru/answering.js";
import { channels } from "./ru/channels.js";
import { inbox } from "./ru/inbox.js";
import { lists } from "./ru/lists.js";
import { overview } from "./ru/overview.js";
import { playground } from "./ru/playground.js";
import { rules } from "./ru/rules.js";
import { settings } from "./ru/settings.js";
import { shell } from "./ru/shell.js";
import { story } from "./ru/story.js";
import { values } from "./ru/values.js";

export const ru = { ...shell, ...values, ...inbox, ...answering, ...story, ...settings, ...channels, ...rules, ...lists, ...overview, ...playground };
