// A time to come, to be chosen from a menu. A menu may stand there for long before it is opened, and be open for long before
// something in it is pressed.

import { serverNow } from "../wire/server_time.js";
import { minute } from "../parts/now.js";
import { appointment, t } from "../words/index.js";

/** @import { Item } from "../parts/menu.js" */

/**
 * Shows what it would be by now, and takes what it is when it is pressed.
 * @param {import("../parts/icon.js").IconName} icon @param {import("../words/index.js").Key} key
 * @param {(now: number) => Date} at @param {(until: Date) => void} take
 * @returns {Item}
 */
export const later = (icon, key, at, take) =>
  ({ icon, words: t(key), hint: appointment(at(Math.max(minute.value, serverNow()))), run: () => take(at(serverNow())) });
