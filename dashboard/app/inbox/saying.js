// What comes of what was said in a conversation: what it stopped, or that it did not go. An agent does not wait for that.

import { conversation, filter } from "../state/conversations.js";
import { inboxAt } from "../state/filter.js";
import { go } from "../state/route.js";
import { Problem } from "../wire/api.js";
import { warn } from "../parts/toast.js";
import { t, word } from "../words/index.js";
import { clear, deskOf, draftOf, lay } from "./desk.js";
import { isUnclear } from "./fates.js";
import { showReceipt } from "./modes.js";
import { contactName } from "./names.js";
import { opened } from "./opened.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Thread } from "../state/thread.js" */

/** Sends what stands in the field, and empties it: only once that is owed, or whatever fails would take the words along. @param {Thread} thread */
export function sayWritten(thread) {
  const desk = deskOf(thread.id).peek();
  const { text, isNote } = desk;
  const file = isNote ? null : desk.file;
  const draft = draftOf(desk);
  const kind = isNote ? "note" : draft ? "draft" : "text";
  const quoted = isNote || draft ? null : desk.quoted;
  const going = thread.say({ kind, text: text.trim(), draft, quoted, file: file && { name: file.name, size: file.size, blob: file } });
  // A second note follows the first, and must not go to the contact; unless what was meant for them waits beside it.
  if (isNote) lay(thread.id, { text: "", isNote: !desk.quoted && !desk.file });
  else clear(thread.id);
  return going;
}

/**
 * Sees it through. Its thread shows what is not confirmed, and what can be done; whoever has gone on by then is told where they are.
 * @param {string} id of the conversation @param {Promise<Wire.Receipt | null>} going
 * @param {boolean} [isQuiet] that it is still not confirmed is no news
 * @returns {Promise<Problem | null>} why it did not go
 */
export async function seeThrough(id, going, isQuiet = false) {
  try {
    showReceipt(id, await going);
    return null;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (!isQuiet || !isUnclear(error)) sayElsewhere(id);
    return error;
  }
}

/** That something is not confirmed in a conversation, unless it is the one that is looked at. @param {string} id */
export function sayElsewhere(id) {
  if (opened.peek()?.id === id) return;
  const it = conversation(id).peek();
  warn(t("unsent.elsewhere", { name: it ? contactName(it) : word("author", "contact") }), { label: t("unsent.open"), run: () => go(inboxAt(filter.peek(), id)) });
}
