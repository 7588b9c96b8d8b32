// English: every key there is. The other languages have the same keys; a test sees to it.

import { inbox } from "./en/inbox.js";
import { pages } from "./en/pages.js";
import { playground } from "./en/playground.js";
import { shell } from "./en/shell.js";
import { values } from "./en/values.js";

export const en = { ...shell, ...values, ...inbox, ...pages, ...playground };
