// What an agent does to a conversation, apart from its mode: each asks the server, keeps its answer, and says what came of it.

import { keep } from "../state/conversations.js";
import { me } from "../state/session.js";
import { Problem, patch, post, remove } from "../wire/api.js";
import { say, sayProblem } from "../parts/toast.js";
import { appointment, t } from "../words/index.js";
import { contactName, personName } from "./names.js";

/** @import * as Wire from "../../types/wire.js" */

/**
 * @param {string} id @param {Record<string, any>} body
 * @returns {Promise<boolean>} whether it was done
 */
export async function change(id, body) {
  try {
    keep(await patch(`/conversations/${id}`, body));
    return true;
  } catch (error) {
    sayConflict(error);
    return false;
  }
}

/** A refusal that shows how things are now is shown so; anything else is said. @param {unknown} error */
function sayConflict(error) {
  if (!(error instanceof Problem) || error.status !== 409 || !error.current?.id) return sayProblem(error);
  /** @type {Wire.Conversation} */
  const now = error.current;
  keep(now);
  say(now.assignee ? t("conflict.assigned", { name: personName(now.assignee) }) : t("conflict.changed"));
}

/** @param {Wire.Conversation} it */
export async function close(it) {
  if (it.status === "closed") return;
  if (await change(it.id, { status: "closed" })) {
    say(t("done.closed", { name: contactName(it) }), { label: t("undo"), run: () => void open(it) });
  }
}

/** @param {Wire.Conversation} it */
export const open = (it) => change(it.id, { status: "open" });

/** @param {Wire.Conversation} it @param {Date} until */
export async function snooze(it, until) {
  if (await change(it.id, { status: "snoozed", snoozed_until: until.toISOString() })) {
    say(t("done.snoozed", { at: appointment(until) }), { label: t("undo"), run: () => void open(it) });
  }
}

/** The contact wants follow-ups again, and has told somebody. @param {Wire.Conversation} it */
export const optIn = (it) => change(it.id, { opted_out: false });

/** @param {Wire.Conversation} it @param {string | null} agent */
export const assign = (it, agent) => change(it.id, { assignee: agent, expected_assignee: it.assignee?.id ?? null });

/** @param {Wire.Conversation} it */
export const assignToMe = (it) => assign(it, "me");

/** Whether who sits here can hold a conversation: a token that acts for nobody cannot. */
export const canHold = () => me.value?.id !== "environment" && me.value?.email !== null;

/** @param {Wire.Conversation} it */
export const clearAttention = (it) => change(it.id, { attention: null });

/** @param {Wire.Conversation} it @param {string} name */
export const rename = (it, name) => change(it.id, { contact: { name } });

/** What could not be marked as read: up to which message, by conversation. @type {Map<string, number | undefined>} */
const unmarked = new Map();

/** @param {string} id @param {number} [seq] */
export async function markRead(id, seq) {
  unmarked.delete(id);
  try {
    const it = await post(`/conversations/${id}/read`, seq ? { seq } : {});
    if (it?.updated_at) keep(it);
  } catch (error) {
    // It stays unread, which the list shows, until the server is back or somebody looks again.
    if (!(error instanceof Problem)) throw error;
    unmarked.set(id, seq);
  }
}

/** Tries again, if it could not be marked. @param {string} id */
export const markReadAgain = (id) => void (unmarked.has(id) && markRead(id, unmarked.get(id)));

/** @param {string} id @returns {Promise<boolean>} false: it was refused */
export async function markUnread(id) {
  unmarked.delete(id);
  try {
    const it = await remove(`/conversations/${id}/read`);
    if (it?.updated_at) keep(it);
    say(t("done.unread"));
    return true;
  } catch (error) {
    sayProblem(error);
    return error instanceof Problem && error.mayBeDone;
  }
}
