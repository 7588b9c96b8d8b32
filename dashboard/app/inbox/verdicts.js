// Why a contact's message was not answered, and what mends it. Pure: words and buttons are drawn elsewhere.

/** @import * as Wire from "../../types/wire.js" */

/**
 * @typedef {"answer" | "retry" | "rule" | "reply"} Act
 *   `answer`: the AI answers now; `retry`: its dead letter is tried again; `rule`: the channel's settings say so; `reply`: only a person can
 * @typedef {{why: string, tone: "wait" | "bad" | "quiet", acts: Act[], by: string | null}} Verdict
 *   `why` is a word of the group `verdict`; `by` is who answered it after all
 * @typedef {{agents: {seq: number, name: string | null}[], assistant: number, isEnd: boolean}} Spoke the words of agents, in
 *   order, and the newest of the assistant that were not withdrawn; without `isEnd` there may be newer ones that are not loaded
 */

/** What can be done about each reason, as long as nobody has spoken since. @type {Record<string, Act[]>} */
const ACTS = {
  mode_human: ["answer"],
  no_model: ["reply"],
  hours: ["answer", "rule"],
  opted_out: ["reply"],
  ai_failure: ["retry", "reply"],
  stale: ["answer"],
  reply_cap: ["answer", "rule"],
  spend_limit: ["reply", "rule"],
  flood: ["answer", "rule"],
  closed: ["answer"],
  stayed_silent: ["answer"],
  undecryptable: ["reply"],
  unheard: ["reply"],
  group: ["rule"],
  dead: ["retry"],
  handed_over: ["answer"],
  left_to_human: ["answer"],
};

/** Nothing was to be answered: it is said, quietly. */
const HARMLESS = new Set(["reaction", "sticker", "poll_vote", "empty", "story", "call", "deleted", "group", "stayed_silent", "closed"]);

/** People can listen to these, whether or not there are words of them. */
const SPOKEN = new Set(["voice", "audio"]);

/** Whether words of ours reached, or may yet reach, the contact. @param {Wire.Message} it */
const counts = (it) => it.delivery !== null && !["cancelled", "failed", "dead"].includes(it.delivery.state);

/** @param {Wire.Message[]} messages in order @param {boolean} isEnd whether none follow them @returns {Spoke} */
export function spoke(messages, isEnd) {
  const said = messages.filter(counts);
  return {
    agents: said.filter(({ author }) => author === "agent").map(({ seq, agent }) => ({ seq, name: agent?.name ?? null })),
    assistant: said.findLast(({ author }) => author === "assistant")?.seq ?? 0,
    isEnd,
  };
}

/**
 * @param {Wire.Message} it
 * @param {Pick<Wire.Conversation, "mode" | "activity" | "status">} conversation
 * @param {Spoke} spoken
 * @returns {Verdict | null} null: it was answered, or is none of the contact's
 */
export function verdict(it, conversation, spoken) {
  if (it.author !== "contact" || it.outcome === null || it.outcome === "answered") return null;
  // A reaction is drawn at what it reacts to.
  if (it.kind === "reaction") return null;
  if (it.outcome === "pending") {
    const why = conversation.mode === "AI" ? `pending_${conversation.activity}` : "pending";
    return { why, tone: "wait", acts: [], by: null };
  }
  const why = it.outcome_reason === "undecryptable" && SPOKEN.has(it.kind) ? "unheard" : it.outcome_reason ?? it.outcome;
  // Who spoke later answered something else, perhaps.
  const byAgent = spoken.agents.find(({ seq }) => seq > it.seq);
  if (byAgent && it.outcome !== "ignored") return { why: "person_answered", tone: "quiet", acts: [], by: byAgent.name };
  // What somebody may have answered since offers nothing to mend either.
  if (byAgent || spoken.assistant > it.seq || !spoken.isEnd) return { why, tone: "quiet", acts: [], by: null };
  const acts = (ACTS[why] ?? []).filter((act) => act !== "answer" || conversation.status !== "closed");
  return { why, tone: HARMLESS.has(why) ? "quiet" : "bad", acts, by: null };
}

/**
 * All that a verdict is drawn of: where that is the same, so is what was drawn.
 * @param {Verdict} it @param {number} count @param {Pick<Wire.Conversation, "mode" | "mode_version" | "assignee">} conversation
 */
export const sealOf = ({ why, tone, by, acts }, count, { mode, mode_version, assignee }) => JSON.stringify([why, tone, by, acts, count, mode, mode_version, assignee?.id]);

/** Whether two messages have the same to be said of them. @param {Verdict | null} a @param {Verdict | null} b */
export const isSame = (a, b) => a !== null && b !== null && a.why === b.why && a.tone === b.tone && a.by === b.by;

/**
 * The dead letter that keeps a message.
 * @param {Wire.DeadLetter[]} letters @param {string} message
 */
export const letterOf = (letters, message) =>
  letters.find(({ payload }) => payload?.message_id === message || payload?.message_ids?.includes(message)) ?? null;
