// How the sandbox behaves: the delays and faults that somebody asked for. No event tells of it, so it is read when the page opens.

import { computed, signal } from "../vendor/preact.js";
import { Problem, get, patch } from "../wire/api.js";

/** @import { Signal } from "../vendor/preact.js" */

/**
 * @typedef {{
 *   model_delay_ms: number,
 *   model_fault: "none" | "error" | "cut" | "empty" | "rate_limited" | "hang",
 *   provider_delay_ms: number,
 *   provider_fault: "none" | "refused" | "hang" | "lost_answer" | "server_error",
 *   duplicate_webhooks: boolean,
 * }} Behaviour
 */

/** As a demo begins: an assistant that takes its time, and nothing that goes wrong. @type {Behaviour} */
export const CALM = {
  model_delay_ms: 2_500,
  model_fault: "none",
  provider_delay_ms: 0,
  provider_fault: "none",
  duplicate_webhooks: false,
};

/** Null until the server has said it. @type {Signal<Behaviour | null>} */
export const behaviour = signal(null);
/** Why there is no sandbox to be shown. @type {Signal<Problem | null>} */
export const sandboxProblem = signal(null);

/** Whether something goes wrong on purpose. */
export const isTroubled = computed(() => {
  const it = behaviour.value;
  return it !== null && (it.model_fault !== "none" || it.provider_fault !== "none" || it.provider_delay_ms > 0 || it.duplicate_webhooks);
});

export async function loadBehaviour() {
  try {
    behaviour.value = await get("/sandbox");
    sandboxProblem.value = null;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    sandboxProblem.value = error;
  }
}

/** From now on it behaves so. @param {Partial<Behaviour>} change */
export async function behave(change) {
  behaviour.value = await patch("/sandbox", change);
}
