// Events as sentences: which words say each, and what goes into them. Pure.

/** @import * as Wire from "../../types/wire.js" */

/** What the timeline shows unless more is asked for: decisions, not each step on the way. */
export const DECISIONS = [
  "conversation_created", "mode_changed", "mode_change_during_generation", "mode_change_before_send", "mode_until_changed", "takeover_settled",
  "turn_failed", "turn_superseded", "tool_called", "fallback_sent", "cached_answer_used", "flood",
  "message_failed", "message_cancelled", "send_uncertain", "send_reconciled", "message_edited", "message_deleted",
  "follow_up_scheduled", "follow_up_cancelled", "follow_up_sent", "follow_up_withheld",
  "attention_raised", "attention_cleared", "conversation_updated", "draft_created", "draft_retired",
  "dead_letter_replayed", "dead_letter_discarded", "duplicate_webhook", "lock_contended", "lock_lost", "lease_taken_over",
];

/** Changes of a conversation that nobody asks "why" about. */
const TRIFLES = new Set(["read", "renamed"]);

/** What is worth a word of an answer that is complete: it is none, or its end is missing. @param {Wire.Event} it */
function oddity(it) {
  if (it.type !== "turn_completed") return null;
  if (typeof it.details?.stayed_silent === "string") return "silent";
  return it.details?.cut ? "cut" : null;
}

/** @param {Wire.Event} it */
export const isDecision = (it) => (DECISIONS.includes(it.type) || oddity(it) !== null) && !(it.type === "conversation_updated" && TRIFLES.has(it.action ?? ""));

/** What stands in the thread itself, between the messages. @param {Wire.Event} it */
export const isTold = (it) =>
  // Whoever takes over has it assigned by that: to say so twice tells nothing.
  !(it.action === "assigned" && it.actor === `agent:${it.details.assignee}`) && (
  it.type === "mode_changed" || it.type === "mode_change_during_generation" || it.type === "flood" || it.type === "tool_called"
  || (it.type === "turn_failed" && it.action === "handed_over")
  || (it.type === "conversation_updated" && ["opened", "closed", "snoozed", "assigned", "merged", "handed_over", "hand_over_noted"].includes(it.action ?? "")));

/**
 * @typedef {{
 *   keys: string[], given: Record<string, string | number>, words: Record<string, [group: string, value: string]>,
 *   ms: number | null, at: string | null, agent: string | null, tone: "good" | "bad" | "warn" | "ai" | "human" | "plain",
 * }} Told
 *   `keys`: the first of them that there are words for; `words` go in as the words of a value of the API; `ms` as `time`, `at` as `when`, `agent` as `name`
 */

/** @type {Record<string, Told["tone"]>} */
const TONES = {
  turn_failed: "bad", message_failed: "bad", send_uncertain: "warn", attention_raised: "bad", lock_lost: "warn", follow_up_withheld: "warn",
  webhook_dead_lettered: "bad", breaker_opened: "bad", brake_latched: "bad", mode_change_during_generation: "human", mode_change_before_send: "human",
  message_sent: "good", turn_completed: "ai", turn_started: "ai", tool_called: "ai", draft_created: "ai", attention_cleared: "good", takeover_settled: "good", send_reconciled: "good",
};

/** @param {Wire.Event} it @returns {Told} */
export function told(it) {
  const { details = {} } = it;
  /** @type {Told["given"]} */
  const given = {};
  /** @type {Told["words"]} */
  const words = {};
  for (const [name, value] of Object.entries(details)) {
    // The sentence has a full stop of its own.
    if (typeof value === "string") given[name] = value.replace(/\s*\.\s*$/, "");
    else if (typeof value === "number") given[name] = value;
  }
  // The same question has other words by what it is about.
  const reason = typeof details.reason === "string" ? details.reason : null;
  // Why a conversation was handed over, the AI says in its own words.
  if (reason && it.type !== "conversation_updated") words.reason = [reasonGroup(it.type), reason];
  if (typeof details.kind === "string") words.kind = [it.type === "turn_failed" ? "failure" : "kind", details.kind];
  if (typeof details.state === "string") words.state = ["delivery", details.state];
  const cause = causeOf(it) ?? it.action;
  return {
    keys: [cause && `event.${it.type}.${cause}`, details.parts > 1 && `event.${it.type}.part`, `event.${it.type}`].filter((key) => typeof key === "string"),
    given, words,
    ms: typeof details.generation_ms === "number" ? details.generation_ms : null,
    at: [details.due_at, details.until].find((value) => typeof value === "string") ?? null,
    agent: typeof details.assignee === "string" ? details.assignee : null,
    tone: it.type === "mode_changed" ? (details.to === "AI" ? "ai" : "human") : it.action === "gave_up" ? "warn" : TONES[it.type] ?? "plain",
  };
}

/** What decides the words, where that is not the action. @param {Wire.Event} it @returns {string | null | undefined} */
function causeOf(it) {
  const { details = {} } = it;
  switch (it.type) {
    case "mode_changed":
      return details.reason;
    case "message_sent":
      // What was written past Baton was accepted by nobody here.
      return details.kind ?? details.origin;
    case "turn_failed":
      // A suggestion is for a person who has the messages already.
      return it.action === "handed_over" && details.purpose === "draft" ? "draft" : null;
    case "mode_until_changed":
      return details.until ? null : "stopped";
    case "draft_retired":
      return details.state;
    default:
      return oddity(it);
  }
}

/** @param {string} type */
function reasonGroup(type) {
  if (type.startsWith("attention_")) return "attention";
  if (type === "follow_up_cancelled" || type === "follow_up_withheld") return "follow_up_reason";
  return "delivery_reason";
}
