// Three messages one after another, as people write them: the case in which an assistant that answers each one by itself
// talks over the contact.

import { t } from "../words/index.js";

/** @import { Screen } from "./screen.js" */

/** Far below the time that a contact must be quiet before an answer is begun. */
const BETWEEN_MS = 600;

/** @param {Screen} screen */
export async function sayQuickly(screen) {
  for (const [index, text] of [t("play.quick_1"), t("play.quick_2"), t("play.quick_3")].entries()) {
    if (index > 0) await new Promise((done) => setTimeout(done, BETWEEN_MS));
    await screen.say(text);
  }
}
