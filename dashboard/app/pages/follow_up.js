// One follow-up in the list: when, to whom, what, and, while it is pending, changing it or calling it off.

import { html, useEffect } from "../vendor/preact.js";
import { actorName } from "../inbox/names.js";
import { withdraw } from "../inbox/sending.js";
import { conversation, load } from "../state/conversations.js";
import { mayAct } from "../state/session.js";
import { Problem, put, remove } from "../wire/api.js";
import { clock, day, t, word } from "../words/index.js";
import { Ago } from "./ago.js";
import { minute } from "../parts/now.js";
import { say, sayProblem } from "../parts/toast.js";
import { ConversationLink, bring } from "./conversation_link.js";

/** @import * as Wire from "../../types/wire.js" */

/** @type {Record<string, string>} */
const LOOKS = { sent: "is-good", withheld: "is-warn" };

/** @param {Wire.FollowUp} plan */
const pathOf = (plan) => `/conversations/${plan.conversation_id}/follow-up`;

/** What is pending there now: what is known of its conversation may be of before. @param {Wire.FollowUp} plan */
async function pending({ conversation_id: id }) {
  await load(id);
  return conversation(id).peek()?.follow_up ?? null;
}

/**
 * Calls it off, and none that has come in its place. From its time on it is a message, which may wait to leave.
 * @param {Wire.FollowUp} plan @param {() => Promise<void>} again
 */
export async function cancel(plan, again) {
  try {
    const isThere = plan.message_id !== null || (await pending(plan))?.id === plan.id;
    if (isThere) {
      await (plan.message_id === null ? remove(pathOf(plan)) : withdraw(plan.message_id));
      say(t("plans.cancelled"), { label: t("undo"), run: () => void restore(plan, again) });
    }
  } catch (error) {
    // Gone already: sent, or called off by somebody else. The list tells which.
    if (!(error instanceof Problem && error.isNotThere)) sayProblem(error);
  }
  await again();
}

/** Plans it again, unless somebody has planned another meanwhile. @param {Wire.FollowUp} plan @param {() => Promise<void>} again */
export async function restore(plan, again) {
  const words = plan.text ? { text: plan.text } : plan.instructions ? { instructions: plan.instructions } : {};
  try {
    if (await pending(plan)) say(t("plans.other"));
    else await put(pathOf(plan), { due_at: plan.due_at, ...words });
  } catch (error) {
    sayProblem(error);
  }
  await again();
}

/** @param {{plan: Wire.FollowUp, again: () => Promise<void>, onEdit: () => void}} props */
export function Planned({ plan, again, onEdit }) {
  useEffect(() => bring(plan.conversation_id), [plan.conversation_id]);
  const isPending = plan.state === "pending";
  const isLate = isPending && Date.parse(plan.due_at) < minute.value;
  const when = `${day(plan.due_at)}, ${clock(plan.due_at)}`;

  async function edit() {
    if ((await pending(plan).catch(sayProblem))?.id === plan.id) onEdit();
    else await again();
  }
  return html`<li class="card entry">
    <div class="entry-head">
      <p class="entry-title"><${ConversationLink} id=${plan.conversation_id} /></p>
      ${!isPending && html`<span class="tag ${LOOKS[plan.state] ?? ""}">${word("follow_up_state", plan.state)}</span>`}
      ${isLate && html`<span class="tag is-warn">${t("plans.late")}</span>`}
      ${isPending
        ? html`<p class="entry-when"><strong><${Ago} at=${plan.due_at} /></strong> <span class="hint">${when}</span></p>`
        : html`<p class="entry-when hint">${t("plans.was_due", { when })}</p>`}
    </div>
    ${plan.text ? html`<blockquote class="entry-text">${plan.text}</blockquote>`
      : html`<p>${plan.instructions ? t("follow_up.by_ai_told", { told: plan.instructions }) : t("follow_up.by_ai")}</p>`}
    <p class="entry-facts hint"><span>${t("follow_up.by", { who: actorName(plan.created_by) })}</span></p>
    ${isPending && mayAct() && html`<p class="entry-acts">
      ${plan.message_id === null && html`<button onClick=${() => void edit()}>${t("edit")}</button>`}
      <button onClick=${() => void cancel(plan, again)}>${t("plans.cancel")}</button>
    </p>`}
  </li>`;
}
