// Messages and conversations for tests: what a test does not name is as plain as can be.

const START = Date.parse("2026-03-02T09:00:00Z");

/** A message a minute. */
export const message = (seq, author, more = {}) => ({
  id: `m${seq}`, conversation_id: "c", seq, author, origin: author === "contact" ? "webhook" : author === "assistant" ? "turn" : "dashboard",
  kind: "text", text: `text ${seq}`, agent: null, sender: null, quoted: null, edited_at: null, deleted_at: null, reactions: [], media: null,
  provider_message_id: null, at: new Date(START + seq * 60_000).toISOString(), provider_at: null,
  outcome: author === "contact" ? "answered" : null, outcome_reason: null, turn_id: null, delivery: null, ...more,
});

export const delivery = (state, more = {}) => ({
  state, attempts: 1, reason: null, part: 1, parts: 1, idempotency_key: "k", lane: "reply", queued_at: "", next_attempt_at: null,
  sent_at: null, delivered_at: null, read_at: null, ...more,
});

/** A reply of the assistant in parts, one state each. */
export const reply = (seq, turn, ...states) => states.map((state, at) =>
  message(seq + at, "assistant", { turn_id: turn, delivery: delivery(state, { part: at + 1, parts: states.length }) }));

export const conversation = (more = {}) => ({
  mode: "AI", mode_version: 1, mode_actor: "system", drafting: false, assignee: null, activity: "idle", status: "open", ...more,
});
