// What became of what we sent: of one message, and of a reply in several parts. Pure.

/** @import * as Wire from "../../types/wire.js" */
/** @import { Owed } from "../state/owed.js" */
/** @import { Problem } from "../wire/api.js" */

/** The states that need no words beside their ticks. */
const QUIET = new Set(["sending", "sent", "delivered", "read"]);

/**
 * @typedef {{isMixed: boolean, state: Wire.Delivery["state"], gone: number, withdrawn: number, of: number}} Fate
 *   `isMixed`: the parts fared differently, so each says its own; `gone` were accepted by the provider
 * @param {Wire.Message[]} parts @returns {Fate | null} null: nothing that is sent
 */
export function fate(parts) {
  const states = parts.flatMap((it) => (it.delivery ? [it.delivery.state] : []));
  if (states.length === 0) return null;
  const gone = states.filter((state) => ["sent", "delivered", "read"].includes(state)).length;
  const withdrawn = states.filter((state) => state === "cancelled").length;
  return { isMixed: new Set(states).size > 1, state: states[0], gone, withdrawn, of: parts[0].delivery?.parts ?? parts.length };
}

/** Whether the state stands there in words for all, not only for who asks. @param {Wire.Delivery} it */
export const isLoud = (it) => !QUIET.has(it.state) && !(it.state === "queued" && it.attempts === 0);

/**
 * What can be done about a message of ours.
 * @param {Wire.Message} it @returns {("withdraw" | "confirm" | "retry" | "retry_unknown")[]}
 */
export function mends(it) {
  switch (it.delivery?.state) {
    case "queued":
      return it.author === "agent" ? ["withdraw"] : [];
    case "unknown":
      return ["confirm", "retry_unknown"];
    case "failed":
    case "dead":
      return ["retry"];
    default:
      return [];
  }
}

/** With these nothing was refused: the session had ended, or it came too late or too soon. */
const UNREFUSED = [401, 408, 429];

/** Whether it certainly did not arrive. A proxy, which has no code of ours, cannot know. @param {Problem} problem */
export const isRefusal = ({ status, code }) => status >= 400 && status < 500 && code !== "unavailable" && !UNREFUSED.includes(status);

/** Whether nobody knows if it arrived. @param {Problem} problem */
export const isUnclear = (problem) => !isRefusal(problem) && !UNREFUSED.includes(problem.status);

/** Whether what is owed may be this message. @param {Owed} it @param {Wire.Message} other */
export const mayBe = (it, other) =>
  other.seq > it.after && other.author === "agent" && (other.kind === "note") === (it.kind === "note") && other.text === it.text;

/**
 * What is owed and not yet among the messages. The feed may bring a message before the server's answer to it does: it is
 * not shown twice.
 * @param {Owed[]} owed @param {Wire.Message[]} messages in order
 */
export function stillOwed(owed, messages) {
  const claimed = new Set();
  return owed.filter((it) => {
    if (it.problem) return true;
    const found = messages.find((other) => mayBe(it, other) && !claimed.has(other.seq));
    if (found) claimed.add(found.seq);
    return !found;
  });
}
