// What a switch did, as sentences: keys of words with what goes into them. Pure.

/** @import * as Wire from "../../types/wire.js" */

/**
 * @typedef {{key: string, given?: Record<string, string | number>, ms?: number}} Sentence
 *   `ms` is a length of time that goes in as `time`
 */

/** Whether nothing was on its way any more when a takeover was answered: what had left is all that there will be. @param {Wire.Receipt} it */
export const isCertain = (it) => it.mode === "HUMAN" && it.settled && it.in_flight.length === 0 && it.at_provider.length === 0;

/** @param {Wire.Receipt} it @param {boolean} isSure as it was answered, for what was under way ends meanwhile @returns {Sentence[]} */
export function sentences(it, isSure = isCertain(it)) {
  return it.mode === "HUMAN" ? tookOver(it, isSure) : gaveBack(it);
}

/** @param {Wire.Receipt} it @param {boolean} isSure @returns {Sentence[]} */
function tookOver(it, isSure) {
  const sent = it.parts_already_sent;
  const discarded = it.parts_discarded;
  /** @type {Sentence[]} */
  const all = [];
  if (it.generation_cancelled) all.push(it.generation_ms === null ? { key: "receipt.stopped" } : { key: "receipt.stopped_after", ms: it.generation_ms });
  // Everything was stopped in time.
  const isWhole = isSure && sent === 0 && (it.generation_cancelled || discarded > 0);
  if (isWhole) all.push({ key: "receipt.none_gone" });
  // How many had gone is only worth saying of a reply that was cut.
  if (discarded > 0 && sent > 0) all.push({ key: "receipt.gone_of", given: { count: sent, of: sent + discarded } }, { key: "receipt.discarded", given: { count: discarded } });
  else if (discarded > 0) all.push({ key: "receipt.discarded_all", given: { count: discarded } });
  if (it.follow_up_cancelled) all.push({ key: "receipt.follow_up" });
  if (isWhole) all.push({ key: "receipt.no_more" });
  if (all.length === 0) all.push({ key: it.changed ? "receipt.nothing" : "receipt.unchanged" });
  return all;
}

/** Whether all was so already. @param {Wire.Receipt} it */
export const didNothing = (it) => !(it.changed || it.generation_cancelled || it.parts_discarded || it.follow_up_cancelled || it.answering);

/** @param {Wire.Receipt} it @returns {Sentence[]} */
function gaveBack(it) {
  /** @type {Sentence[]} */
  const all = [{ key: it.changed ? "receipt.ai" : "receipt.ai_already" }];
  if (it.answering) all.push({ key: "receipt.answering" });
  return all;
}

/**
 * What is not settled yet: sends under way whose fate is open, and what the provider has and cannot give back.
 * @param {Wire.Receipt} it @returns {Sentence[]}
 */
export function unsettled(it) {
  if (it.mode !== "HUMAN") return [];
  /** @type {Sentence[]} */
  const all = [];
  if (!it.settled && it.in_flight.length > 0) all.push({ key: "receipt.not_settled", given: { count: it.in_flight.length } });
  else if (!it.settled) all.push({ key: "receipt.not_settled_yet" });
  else if (it.in_flight.length > 0) all.push({ key: "receipt.unknown", given: { count: it.in_flight.length } });
  if (it.at_provider.length > 0) all.push({ key: "receipt.at_provider", given: { count: it.at_provider.length } });
  return all;
}
