// What comes of what was said in a conversation: what it stopped, or that it did not go. An agent does not wait for that.

import { conversation, filter } from "../state/conversations.js";
import { inboxAt } from "../state/filter.js";
import { go } from "../state/route.js";
import { Problem } from "../wire/api.js";
import { warn } from "../parts/toast.js";
import { t, word } from "../words/index.js";
import { showReceipt } from "./modes.js";
import { contactName } from "./names.js";
import { opened } from "./opened.js";

/** @import * as Wire from "../../types/wire.js" */

/**
 * Sees it through. Its thread shows what is not confirmed, and what can be done; whoever has gone on by then is told where they are.
 * @param {string} id of the conversation @param {Promise<Wire.Receipt | null>} going
 * @returns {Promise<Problem | null>} why it did not go
 */
export async function seeThrough(id, going) {
  try {
    showReceipt(id, await going);
    return null;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (opened.peek()?.id !== id) {
      const it = conversation(id).peek();
      warn(t("unsent.elsewhere", { name: it ? contactName(it) : word("author", "contact") }), { label: t("unsent.open"), run: () => go(inboxAt(filter.peek(), id)) });
    }
    return error;
  }
}
