// The rules that a channel may have of its own: what each is called, how it is written, in which unit, and within which bounds.

/**
 * @typedef {"s" | "min" | "h" | "ms" | "percent" | "characters" | "parts" | "messages" | "attempts" | "sends" | "money"} Unit
 * @typedef {{key: string, kind: "number" | "numbers", unit: Unit, max: number, min?: number, isWhole?: false}} NumberRule bounds
 *   as the API has them
 * @typedef {{key: string, kind: "choice", values: string[]}} ChoiceRule
 * @typedef {{key: string, kind: "text" | "long" | "words"}} TextRule
 * @typedef {NumberRule | ChoiceRule | TextRule} Rule
 */

/** How many of the API's units are one of ours. @type {Partial<Record<Unit, number>>} */
export const FACTORS = { s: 1_000, min: 60_000, h: 3_600_000 };

const HOUR = 3_600_000;
const YEAR = 366 * 24 * HOUR;
const SWITCH = ["true", "false"];

/** @type {{group: string, rules: Rule[]}[]} */
export const GROUPS = [
  { group: "assistant", rules: [
    { key: "prompt", kind: "long" },
    { key: "ai_model", kind: "text" },
    // The server refuses 0: it would be reached at once.
    { key: "ai_spend_per_day", kind: "number", unit: "money", min: 0.01, max: 1_000_000_000, isWhole: false },
    { key: "rollout_percent", kind: "number", unit: "percent", max: 100 },
    { key: "drafting", kind: "choice", values: SWITCH },
    { key: "reply_cap", kind: "number", unit: "messages", max: 1_000_000 },
    { key: "stale_ms", kind: "number", unit: "h", max: YEAR },
    { key: "groups", kind: "choice", values: ["ignore", "answer"] },
    { key: "cached_answers", kind: "choice", values: ["on", "off"] },
  ] },
  { group: "bursts", rules: [
    { key: "burst", kind: "choice", values: ["interrupt", "collect", "queue"] },
    { key: "burst_quiet_ms", kind: "number", unit: "s", max: HOUR },
    { key: "burst_max_ms", kind: "number", unit: "s", max: HOUR },
    { key: "burst_max_messages", kind: "number", unit: "messages", min: 1, max: 1_000 },
  ] },
  { group: "rhythm", rules: [
    { key: "typing_ms_per_char", kind: "number", unit: "ms", max: 10_000 },
    { key: "typing_jitter_ms", kind: "number", unit: "ms", max: 60_000 },
    { key: "typing_max_ms", kind: "number", unit: "s", max: 600_000 },
    { key: "split_chars", kind: "number", unit: "characters", max: 20_000 },
    { key: "split_parts", kind: "number", unit: "parts", max: 50 },
    { key: "read_receipts", kind: "choice", values: ["answer", "agent", "never"] },
    { key: "send_interval_ms", kind: "number", unit: "ms", max: HOUR },
    { key: "send_in_flight", kind: "number", unit: "sends", min: 1, max: 100_000 },
    { key: "send_attempts", kind: "number", unit: "attempts", min: 1, max: 100 },
  ] },
  { group: "people", rules: [
    { key: "ai_hours", kind: "text" },
    { key: "handover_hours", kind: "text" },
    { key: "human_hold_ms", kind: "number", unit: "min", max: YEAR },
    { key: "human_overdue_ms", kind: "number", unit: "min", max: YEAR },
    { key: "handover_words", kind: "words" },
  ] },
  { group: "follow_ups", rules: [
    { key: "follow_up_after_ms", kind: "numbers", unit: "h", max: YEAR },
    { key: "follow_up_text", kind: "long" },
    { key: "follow_up_late_ms", kind: "number", unit: "min", max: YEAR },
    { key: "quiet_hours", kind: "text" },
    { key: "opt_out_words", kind: "words" },
  ] },
  { group: "texts", rules: [
    { key: "fallback_text", kind: "long" },
    { key: "handover_text", kind: "long" },
    { key: "unreadable_text", kind: "long" },
    { key: "opt_out_text", kind: "long" },
  ] },
];

/** Rules without which something is always so. */
export const ALWAYS = ["ai_hours", "handover_hours"];

/** Rules that have no setting for all channels beside them. */
export const OWN = ["prompt", "drafting"];
