// Español: todas las claves que hay en inglés; una prueba lo comprueba.

import { answering } from "./es/answering.js";
import { channels } from "./es/channels.js";
import { inbox } from "./es/inbox.js";
import { lists } from "./es/lists.js";
import { overview } from "./es/overview.js";
import { playground } from "./es/playground.js";
import { rules } from "./es/rules.js";
import { settings } from "./es/settings.js";
import { shell } from "./es/shell.js";
import { story } from "./es/story.js";
import { values } from "./es/values.js";

export const es = { ...shell, ...values, ...inbox, ...answering, ...story, ...settings, ...channels, ...rules, ...lists, ...overview, ...playground };
