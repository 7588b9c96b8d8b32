// English, as far as the inbox speaks it. The pages beside it have theirs in `en/pages.js`; another language says all of it in one
// file. All have the same keys; a test sees to it.

import { inbox } from "./en/inbox.js";
import { shell } from "./en/shell.js";
import { values } from "./en/values.js";

export const en = { ...shell, ...values, ...inbox };
