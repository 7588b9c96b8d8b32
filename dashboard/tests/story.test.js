import assert from "node:assert/strict";
import { test } from "node:test";
import { rest } from "./page.js";
import { DECISIONS, isDecision, isTold, told } from "../app/inbox/decisions.js";
import { plan } from "../app/inbox/lane_plan.js";
import { tell } from "../app/inbox/telling.js";
import { en } from "./english.js";
import { delivery, message } from "./made.js";
import { preferences } from "../app/state/preferences.js";
import { me } from "../app/state/session.js";
import { LANGUAGES } from "../app/words/index.js";

const event = (type, more = {}) => ({ id: type, at: "2026-03-02T09:01:10Z", conversation_id: "c", conv_seq: 1, message_id: null, turn_id: null, actor: "agent:ana", type, action: null, details: {}, ...more });

/** Types and actions that the contract names. */
const CONTRACT = `message_received/stored duplicate_webhook/skipped webhook_ignored/acknowledged webhook_dead_lettered/kept turn_started turn_completed
  tool_called turn_failed/retried turn_failed/handed_over turn_superseded/restarted turn_superseded/instance_stopped mode_change_during_generation/cancelled_generation
  mode_change_before_send/discarded_message mode_changed agent_took_over message_queued message_sent message_failed/retried message_failed/dead_lettered
  send_uncertain/reconciling send_reconciled/confirmed_sent send_reconciled/resent send_reconciled/gave_up delivery_updated follow_up_scheduled/created
  follow_up_scheduled/replaced follow_up_cancelled follow_up_sent follow_up_withheld lock_contended/left_to_holder lock_lost/stopped lease_taken_over
  breaker_opened breaker_closed brake_latched brake_released draft_created draft_retired channel_state_changed flood/collected conversation_erased conversation_created
  conversation_updated/opened conversation_updated/snoozed conversation_updated/closed conversation_updated/assigned conversation_updated/labelled
  conversation_updated/renamed conversation_updated/drafting conversation_updated/read conversation_updated/merged mode_until_changed takeover_settled
  attention_raised attention_cleared message_edited message_deleted message_cancelled note_added follow_up_due fallback_sent cached_answer_used
  dead_letter_replayed dead_letter_discarded channel_updated endpoint_disabled`.split(/\s+/).map((one) => one.split("/"));

test("every event of the contract is told in words", () => {
  for (const [type, action] of CONTRACT) assert.ok(told(event(type, { action })).keys.some((key) => key in en), type);
  const types = new Set(CONTRACT.map(([type]) => type));
  assert.deepEqual(DECISIONS.filter((type) => !types.has(type)), []);
});

test("every reason for a switch is told in words of its own", () => {
  for (const reason of "agent_button agent_message agent_phone other_system contact_asked assistant_asked reply_cap hold_expired released rollout opted_out hours draft_sent api".split(" ")) {
    assert.ok(`event.mode_changed.${reason}` in en, reason);
    assert.equal(told(event("mode_changed", { details: { reason, to: "AI" } })).keys[0], `event.mode_changed.${reason}`);
  }
});

test("why a person was called is told in sentences, not by the label of the list", () => {
  const reasons = Object.keys(en).flatMap((key) => /^attention\.short\.(.+)$/.exec(key)?.[1] ?? []);
  assert.ok(reasons.includes("send_unknown"));
  for (const reason of reasons) {
    const words = tell(event("attention_raised", { details: { reason } }));
    assert.equal(words, `A person was called. ${en[`attention.${reason}`]}`);
    assert.match(words, /^[^?:]+[^.]\.$/, reason);
  }
});

test("of a suggestion that failed nobody is told that messages went to a person", () => {
  const failed = (action, purpose) => tell(event("turn_failed", { action, details: { kind: "empty", purpose } }));
  assert.equal(failed("handed_over", "draft"), "The AI could not make a suggestion: its answer was empty.");
  assert.equal(failed("retried", "draft"), "The AI failed: its answer was empty. It is asked again.");
  assert.match(failed("handed_over", "reply"), /The messages went to a person/);
});

test("every way the AI can fail is told in words, in the story and of a dead letter", () => {
  const kinds = "rate_limited quota server_error refused too_long unreachable timed_out cut malformed empty content_filter breaker_open".split(" ");
  for (const kind of kinds) for (const group of ["failure", "turn_reason"]) assert.ok(`${group}.${kind}` in en, `${group}.${kind}`);
});

test("a clock that was stopped goes back at no time, and a suggestion that was sent was not put away", () => {
  const by = (type, details) => tell(event(type, { actor: "system", details }));
  assert.match(by("mode_until_changed", { until: "2026-03-02T10:00:00Z" }), /set the clock back to the AI: .*Mar/);
  assert.match(by("mode_until_changed", { until: null }), /stopped the clock: a person answers until told otherwise\.$/);
  assert.match(by("draft_retired", { state: "sent" }), /sent the suggestion\.$/);
  assert.match(by("draft_retired", { state: "edited" }), /changed the suggestion, and sent it\.$/);
  for (const state of ["stale", "discarded"]) assert.equal(by("draft_retired", { state }), "The suggestion was put away.");
});

test("why the AI chose to say nothing is told, and a turn that answered is no decision", () => {
  const silent = event("turn_completed", { details: { stayed_silent: "only thanks" } });
  assert.ok(isDecision(silent) && !isDecision(event("turn_completed")));
  const { keys, given } = told(silent);
  assert.ok(keys[0] in en);
  assert.equal(given.stayed_silent, "only thanks");
  const cut = event("turn_completed", { details: { cut: "length" } });
  assert.ok(isDecision(cut) && told(cut).keys[0] in en);
});

test("a step on the way is no decision, and trifles are neither told nor decided", () => {
  assert.ok(!isDecision(event("message_sent")));
  assert.ok(!isDecision(event("conversation_updated", { action: "read" })));
  assert.ok(isTold(event("conversation_updated", { action: "closed" })));
  assert.ok(!isTold(event("turn_failed", { action: "retried" })));
});

const turn = (more) => ({ id: "t", state: "completed", started_at: "2026-03-02T09:01:02Z", ended_at: "2026-03-02T09:01:06Z", ...more });
const ours = (seq, at, more) => message(seq, "assistant", { at, turn_id: "t", delivery: delivery("sent", more) });
const drawn = (given, width = 100) => plan({ messages: [], turns: [], events: [], now: 0, ...given }, width);

test("a generation that was stopped is a bar cut short, and the takeover goes through all lanes", () => {
  const found = drawn({
    messages: [message(1, "contact", { at: "2026-03-02T09:01:00Z" }), ours(2, "2026-03-02T09:01:06Z", { state: "cancelled" })],
    turns: [turn({ state: "cancelled" })],
    events: [event("mode_changed", { details: { to: "HUMAN" } }), event("mode_change_before_send", { message_id: "m2" })],
  });
  assert.deepEqual(found.items.map((it) => [it.kind, it.lane, it.isCut]), [
    ["message", "contact", false], ["writing", "assistant", true], ["switch", null, false], ["withdrawn", "provider", false]]);
  const [asked, writing, taken] = found.items;
  assert.ok(asked.x === 0 && writing.x < writing.x2 && writing.x2 < taken.x && taken.x === 100);
});

test("a long silence is squeezed and said, and does not push the rest together", () => {
  const found = drawn({ messages: [message(1, "contact", { at: "2026-03-02T09:00:00Z" }), message(2, "agent", { at: "2026-03-02T09:10:00Z" }), message(3, "agent", { at: "2026-03-02T09:10:12Z" })] });
  assert.deepEqual(found.breaks.map((it) => it.ms), [600_000]);
  assert.deepEqual(found.items.map((it) => it.x), [0, 50, 100]);
});

test("what came before a long silence is another exchange", () => {
  const found = drawn({ messages: [message(1, "contact", { at: "2026-03-02T08:00:00Z" }), message(2, "contact", { at: "2026-03-02T09:10:00Z" })], turns: [turn({ started_at: "2026-03-02T08:00:01Z", ended_at: "2026-03-02T08:00:02Z" })] });
  assert.equal(found.items.length, 1);
  assert.equal(drawn({ messages: [] }), null);
});

test("marks of one moment stand apart", () => {
  const at = "2026-03-02T09:01:00Z";
  const found = drawn({ messages: [1, 2, 3].map((seq) => message(seq, "contact", { at })) });
  assert.equal(new Set(found.items.map((it) => it.x)).size, 3);
});

test("what is still being written reaches to now", () => {
  const now = Date.parse("2026-03-02T09:01:10Z");
  const found = drawn({ messages: [message(1, "contact", { at: "2026-03-02T09:01:00Z" })], turns: [turn({ state: "generating", ended_at: null })], now });
  assert.equal(found.to, now);
});

test("in a language whose verbs would have to follow, one is called by one's own name in what one did", async (t) => {
  const before = preferences.peek();
  t.after(() => {
    me.value = null;
    preferences.value = before;
  });
  me.value = { id: "ana", name: "Ana", role: "agent", preferences: {} };
  const took = event("mode_changed", { details: { to: "HUMAN", reason: "agent_button" } });
  const said = async (language) => {
    await LANGUAGES[language].load();
    preferences.value = { ...before, language };
    await rest();
    return tell(took);
  };
  assert.equal(await said("en"), "You took over.");
  assert.equal(await said("es"), "Ana tomó el control.");
  assert.equal(await said("pt"), "Você assumiu.");
});

test("what the AI says in words of its own ends with one full stop", () => {
  const handed = (reason) => tell(event("conversation_updated", { actor: "assistant", action: "handed_over", details: { reason } }));
  assert.equal(handed("The contact asks for a person."), "The AI handed over to a person: The contact asks for a person.");
  assert.equal(handed("They ask for a person"), "The AI handed over to a person: They ask for a person.");
});
