// The tour's rules: what has been done so far, and what the next event makes of it. Nothing here waits, asks or shows.

/** @import * as Wire from "../../types/wire.js" */

/** Messages in a row that make a burst. */
export const QUICK = 3;
export const STEPS = /** @type {const} */ ([1, 2, 3, 4]);

/**
 * @typedef {(typeof STEPS)[number]} Step
 * @typedef {"write" | "wait" | "look"} Burst
 * @typedef {"held" | "ask" | "press" | "late"} Press
 * @typedef {"answer" | "give"} Answer
 * @typedef {"held" | "choose" | "say" | "watch"} Trouble
 * @typedef {Burst | Press | Answer | Trouble | "done"} Phase
 * @typedef {{
 *   step: Step, phase: Phase,
 *   written: number, isCut: boolean, isFound: boolean,
 * }} Tour
 *   `written` counts the contact's messages of step 1; `isCut` says that the takeover of step 2 stopped something;
 *   `isFound` that the doubled webhook of step 4 was dropped.
 *
 * @typedef {{mode: Wire.Mode | null, isTroubled: boolean}} World what is so when a step begins
 */

/** @param {Step} step @param {World} world @returns {Tour} */
export function begin(step, world) {
  const isHeld = world.mode === "HUMAN";
  /** @type {Record<Step, Phase>} */
  const first = {
    1: isHeld ? "held" : "write",
    2: isHeld ? "held" : "ask",
    3: "answer",
    4: isHeld ? "held" : world.isTroubled ? "say" : "choose",
  };
  return { step, phase: first[step], written: 0, isCut: false, isFound: false };
}

/**
 * What an event of the conversation that is played makes of it.
 * @param {Tour} tour @param {Wire.Event} event @param {World} world
 * @returns {Tour}
 */
export function after(tour, event, world) {
  if (tour.phase === "done") return tour;
  if (event.type === "conversation_created" && event.details.mode === "HUMAN") return { ...tour, phase: "held" };
  // A step that needs the assistant waits until it has the conversation.
  if (tour.phase === "held") return isGivenBack(event) ? begin(tour.step, { ...world, mode: "AI" }) : tour;
  return { 1: burst, 2: press, 3: answer, 4: trouble }[tour.step](tour, event);
}

/** The provider or the webhooks were told to misbehave, or not to. @param {Tour} tour @param {boolean} isTroubled @returns {Tour} */
export function afterKnob(tour, isTroubled) {
  if (tour.step !== 4) return tour;
  if (tour.phase === "choose" && isTroubled) return { ...tour, phase: "say" };
  if (tour.phase === "say" && !isTroubled) return { ...tour, phase: "choose" };
  return tour;
}

/** @param {Wire.Event} event */
const isGivenBack = (event) => event.type === "mode_changed" && event.details.to === "AI";
/** @param {Wire.Event} event */
const isTakenOver = (event) => event.type === "mode_changed" && event.details.to === "HUMAN";

/** Step 1: three messages, and one answer to them. @param {Tour} tour @param {Wire.Event} event @returns {Tour} */
function burst(tour, event) {
  switch (event.type) {
    case "message_received": {
      const written = tour.written + 1;
      return { ...tour, written, phase: written >= QUICK && tour.phase === "write" ? "wait" : tour.phase };
    }
    case "turn_started":
      // A slow writer gets several turns: it is the one over all three that counts.
      return Number(event.details.messages) >= QUICK ? { ...tour, phase: "look" } : tour;
    case "turn_superseded":
    case "turn_failed":
      return tour.phase === "look" ? { ...tour, phase: "wait" } : tour;
    case "turn_completed":
      // It was answered before there were three: they are to be written again.
      return tour.written < QUICK ? { ...tour, written: 0 } : tour;
    case "message_sent":
      return tour.phase === "look" && event.message?.author === "assistant" ? { ...tour, phase: "done" } : tour;
    case "mode_changed":
      return isTakenOver(event) ? { ...tour, phase: "held", written: 0 } : tour;
    default:
      return tour;
  }
}

/** Step 2: a takeover in the middle of an answer. @param {Tour} tour @param {Wire.Event} event @returns {Tour} */
function press(tour, event) {
  switch (event.type) {
    case "turn_started":
    case "message_queued":
      return tour.phase === "ask" ? { ...tour, phase: "press" } : tour;
    case "message_sent":
      // All of it has gone: now there is nothing to stop any more.
      return tour.phase === "press" && event.details.part === event.details.parts ? { ...tour, phase: "ask" } : tour;
    case "mode_change_during_generation":
    case "mode_change_before_send":
      // One comes before the change of mode, the other may come after it.
      return { ...tour, isCut: true, phase: tour.phase === "late" ? "done" : tour.phase };
    case "mode_changed":
      if (isTakenOver(event)) return { ...tour, phase: tour.isCut ? "done" : "late" };
      return { ...tour, phase: "ask", isCut: false };
    default:
      return tour;
  }
}

/** Step 3: a person answers, and gives the conversation back. @param {Tour} tour @param {Wire.Event} event @returns {Tour} */
function answer(tour, event) {
  const isAnswer = ["message_queued", "message_sent"].includes(event.type) && event.message?.author === "agent";
  if (tour.phase === "answer" && isAnswer) return { ...tour, phase: "give" };
  if (tour.phase === "give" && isGivenBack(event)) return { ...tour, phase: "done" };
  return tour;
}

/** Step 4: something goes wrong, and nothing is sent twice. @param {Tour} tour @param {Wire.Event} event @returns {Tour} */
function trouble(tour, event) {
  switch (event.type) {
    case "message_received":
      return tour.phase === "say" ? { ...tour, phase: "watch" } : tour;
    case "duplicate_webhook":
      return { ...tour, isFound: true };
    case "send_reconciled":
      return event.action === "confirmed_sent" ? { ...tour, phase: "done" } : tour;
    case "message_sent":
      return tour.isFound && event.message?.author === "assistant" ? { ...tour, phase: "done" } : tour;
    case "mode_changed":
      return isTakenOver(event) ? { ...tour, phase: "held", isFound: false } : tour;
    default:
      return tour;
  }
}
