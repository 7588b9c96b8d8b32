// Switching who answers. What was pressed shows before the server says anything; what it did is said when it has.

import { batch, signal } from "../vendor/preact.js";
import { amend, conversation, keep } from "../state/conversations.js";
import { hear } from "../state/feed.js";
import { Problem, patch, put } from "../wire/api.js";
import { sayProblem } from "../parts/toast.js";
import { didNothing, isCertain } from "./receipts.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Signal } from "../vendor/preact.js" */

/**
 * @typedef {{receipt: Wire.Receipt | null, problem: Problem | null, conflict: Wire.Conversation | null, isSettled: boolean, isSure: boolean, asked: "answer" | "clock" | null}} Outcome
 *   one of `receipt`, `problem` and `conflict` is what the last switch came to; `asked` what it was to do besides; `isSure`: it left
 *   nothing on its way
 */

/** More than this is forgotten, the oldest first. */
const OUTCOMES_MAX = 100;

/** What the last switch in each conversation came to, until it is put away. @type {Signal<Map<string, Outcome>>} */
export const outcomes = signal(new Map());
/** What is being switched now, by conversation. @type {Signal<Map<string, {to: Wire.Mode}>>} */
export const pressed = signal(new Map());
/** The server has no AI: said once, it stays said until a switch succeeds. */
export const isModelMissing = signal(false);

/** @param {string} id @param {Outcome | null} it */
function setOutcome(id, it) {
  const all = new Map(outcomes.peek());
  all.delete(id);
  if (it) all.set(id, it);
  if (all.size > OUTCOMES_MAX) all.delete(/** @type {string} */ (all.keys().next().value));
  outcomes.value = all;
}

/** @param {string} id @param {{to: Wire.Mode} | undefined} it */
function setPressed(id, it) {
  const all = new Map(pressed.peek());
  if (it) all.set(id, it);
  else all.delete(id);
  pressed.value = all;
}

/** What is on its way in each conversation, the last of it. @type {Map<string, {seal: string, going: Promise<any>}>} */
const underWay = new Map();

/**
 * Pressed again while it is on its way, it is that: a second one would find what the first has changed, and tell of a conflict.
 * @template T @param {string} id @param {any} what @param {() => Promise<T>} run @returns {Promise<T>}
 */
function once(id, what, run) {
  const seal = JSON.stringify(what);
  const last = underWay.get(id);
  if (last?.seal === seal) return last.going;
  const going = run().finally(() => underWay.get(id)?.going === going && underWay.delete(id));
  underWay.set(id, { seal, going });
  return going;
}

/** @param {string} id */
export const dropOutcome = (id) => setOutcome(id, null);

/**
 * What a takeover stopped, whichever way it came about.
 * @param {string} id @param {Wire.Receipt | null} receipt @param {Outcome["asked"]} [asked]
 * @param {Wire.Conversation | null} [before] as it was known when it was asked for
 */
export function showReceipt(id, receipt, asked = null, before = null) {
  const known = conversation(id).peek();
  // The feed may be faster than the answer: then another switch since has made this one history.
  if (!receipt || receipt.mode_version < (known?.mode_version ?? 0)) return;
  // Done again, it does nothing; what it did the first time is still what there is to tell.
  const isTold = asked === null && didNothing(receipt) && outcomes.peek().get(id)?.receipt?.mode_version === receipt.mode_version;
  if (!isTold) setOutcome(id, { receipt, problem: null, conflict: null, isSettled: receipt.settled, isSure: isCertain(receipt), asked });
  // The event with the whole conversation is on its way; who answers must not wait for it. If it has come already, somebody may
  // have taken it since, or moved the clock.
  if (known && (known === before || known.mode_version < receipt.mode_version)) amend(id, { mode: receipt.mode, mode_version: receipt.mode_version, mode_until: receipt.mode_until, assignee: receipt.assignee });
}

/**
 * @param {string} id @param {Record<string, any>} body as 5.2 of the contract
 * @returns {Promise<Wire.Receipt | null>} null: it was refused, or nobody knows
 */
const change = (id, body) => once(id, body, () => bring(id, body));

/** @param {string} id @param {Record<string, any>} body @returns {Promise<Wire.Receipt | null>} */
async function bring(id, body) {
  const before = conversation(id).peek();
  // To move the clock, or to ask for an answer, changes nobody.
  const mine = before?.mode !== body.mode ? { to: body.mode } : undefined;
  if (mine) setPressed(id, mine);
  // What was pressed since is still to come.
  const settle = () => mine && pressed.peek().get(id) === mine && setPressed(id, undefined);
  try {
    /** @type {Wire.Receipt} */
    const receipt = await put(`/conversations/${id}/mode`, body);
    batch(() => {
      settle();
      if (receipt.mode === "AI") isModelMissing.value = false;
      showReceipt(id, receipt, body.answer_now ? "answer" : "until" in body && !receipt.changed ? "clock" : null, before);
    });
    return receipt;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    batch(() => {
      settle();
      if (error.code === "no_model") isModelMissing.value = true;
      const now = error.status === 409 && error.current?.id ? error.current : null;
      if (now) keep(now);
      // Nobody has answered, and the feed has told of the switch.
      if (error.mayBeDone && isSwitched(before, conversation(id).peek(), body.mode)) return dropOutcome(id);
      setOutcome(id, { receipt: null, problem: error, conflict: error.code === "version_conflict" ? now : null, isSettled: true, isSure: false, asked: null });
    });
    return null;
  }
}

/** @param {Wire.Conversation | null} before @param {Wire.Conversation | null} after @param {Wire.Mode} mode */
const isSwitched = (before, after, mode) => after !== null && after.mode === mode && after.mode_version > (before?.mode_version ?? 0);

/** At once, whatever the version: to stop the AI is never refused. @param {Wire.Conversation} it */
export const takeOver = (it) => change(it.id, { mode: "HUMAN" });

/**
 * Only if it still stands as it is shown: what a colleague has taken meanwhile is not given away.
 * @param {Wire.Conversation} it @param {{answer_now?: boolean, note?: string}} [how]
 */
export const giveBack = (it, how = {}) => change(it.id, { mode: "AI", expected_version: it.mode_version, ...how });

/** The way back to AI by the clock; null stops it. @param {Wire.Conversation} it @param {Date | null} until */
export const backAt = (it, until) => change(it.id, { mode: "HUMAN", until: until?.toISOString() ?? null });

/** @param {Wire.Conversation} it */
export const takeFrom = (it) => once(it.id, "take", () => takeIt(it));

/** @param {Wire.Conversation} it */
async function takeIt(it) {
  try {
    keep(await patch(`/conversations/${it.id}`, { assignee: "me", expected_assignee: it.assignee?.id ?? null }));
  } catch (error) {
    if (error instanceof Problem && error.status === 409 && error.current?.id) {
      keep(error.current);
      setOutcome(it.id, { receipt: null, problem: error, conflict: error.current, isSettled: true, isSure: false, asked: null });
    } else sayProblem(error);
  }
}

/** @param {Wire.Conversation} it @param {boolean} drafting */
export async function setDrafting(it, drafting) {
  try {
    keep(await patch(`/conversations/${it.id}`, { drafting }));
  } catch (error) {
    sayProblem(error);
  }
}

/**
 * What was under way and has met its end since is so no more. One of unknown fate has not, although nobody sends it now.
 * @param {Wire.Receipt} receipt @param {Wire.Message | null | undefined} message @returns {Wire.Receipt}
 */
function withoutEnded(receipt, message) {
  const state = message?.delivery?.state;
  if (!message || !state || state === "sending" || state === "unknown" || !receipt.in_flight.includes(message.id)) return receipt;
  return { ...receipt, in_flight: receipt.in_flight.filter((one) => one !== message.id) };
}

/** Follows what settles after its answer; returns what ends that. */
export function followSettling() {
  return hear((event) => {
    const id = event.conversation_id;
    const shown = id && outcomes.peek().get(id);
    if (!id || !shown) return;
    const receipt = shown.receipt && withoutEnded(shown.receipt, event.message);
    const isSettled = shown.isSettled || (event.type === "takeover_settled" && receipt?.mode === "HUMAN");
    if (receipt !== shown.receipt || isSettled !== shown.isSettled) setOutcome(id, { ...shown, receipt, isSettled });
    // Another switch since: what the last one did is no longer how things stand. One that nobody has answered was this, perhaps.
    const upTo = (receipt ?? shown.conflict)?.mode_version ?? 0;
    if (event.type === "mode_changed" && (event.mode_version ?? 0) > upTo) dropOutcome(id);
  });
}
