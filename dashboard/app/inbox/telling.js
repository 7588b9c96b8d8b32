// An event in the words of the reader.

import { agentName } from "../state/shelf.js";
import { appointment, span, t, word } from "../words/index.js";
import { en } from "../words/en.js";
import { told } from "./decisions.js";
import { doerName } from "./names.js";

/** @import * as Wire from "../../types/wire.js" */

/** @param {Wire.Event} it */
export function tell(it) {
  const { keys, given, words, ms, at, agent } = told(it);
  const key = keys.find((one) => one in en);
  // A type that is newer than this page is shown as the API has it.
  if (!key) return word("event", it.type);
  const filled = Object.fromEntries(Object.entries(words).map(([name, [group, value]]) => [name, word(group, value)]));
  const name = agent === null ? t("assignee.nobody") : agentName(agent) ?? t("actor.agent");
  return t(/** @type {any} */ (key), {
    reason: "", kind: "", ...given, ...filled, name, who: doerName(it.actor),
    time: ms === null ? "" : span(ms), when: at === null ? "" : appointment(at),
  });
}

/** The code of it, for who reads code. @param {Wire.Event} it */
export const codeOf = (it) => [it.type, it.action].filter(Boolean).join(" · ");
