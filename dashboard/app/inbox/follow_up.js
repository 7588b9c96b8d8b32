// The follow-up: what will be written, when, unless the contact answers before. At most one is pending.

import { html, useRef, useSignal } from "../vendor/preact.js";
import { amend, conversation } from "../state/conversations.js";
import { mayAct } from "../state/session.js";
import { Problem, put, remove } from "../wire/api.js";
import { serverNow } from "../wire/server_time.js";
import { Confirm, Dialog } from "../parts/dialog.js";
import { Field, Form, OneOf, Send } from "../parts/form.js";
import { Icon } from "../parts/icon.js";
import { useKeptFocus } from "../parts/kept_focus.js";
import { minute } from "../parts/now.js";
import { say, sayProblem } from "../parts/toast.js";
import { appointment, span, t } from "../words/index.js";
import { actorName, takesMessages } from "./names.js";
import { asField, dayAt, inMinutes } from "./times.js";

/** @import * as Wire from "../../types/wire.js" */

/** @param {{it: Wire.Conversation}} props */
export function FollowUp({ it }) {
  const isEdited = useSignal(false);
  /** Of the one that was asked about: another that takes its place meanwhile is not called off for it. */
  const askedId = useSignal("");
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  // What is planned and what is not have other buttons; and neither has any where nothing can be.
  useKeptFocus(box, () => box.current?.querySelector("button") ?? box.current);
  const pending = it.follow_up;

  async function cancel() {
    try {
      await remove(`/conversations/${it.id}/follow-up`);
      amend(it.id, { follow_up: null });
      say(t("follow_up.cancelled"));
    } catch (error) {
      // Gone already: sent, or called off by somebody else. The event tells which.
      if (error instanceof Problem && error.isNotThere) amend(it.id, { follow_up: null });
      else sayProblem(error);
    }
  }
  const why = whyNone(it);
  return html`<div class="follow-up" ref=${box} tabindex="-1">
    ${pending ? html`
      <p class="follow-up-when"><${Icon} name="clock" /><span><b>${dueIn(pending.due_at)}</b> <time datetime=${pending.due_at}>${appointment(pending.due_at)}</time></span></p>
      <p class="follow-up-what" dir="auto">${pending.text ? `“${pending.text}”` : pending.instructions ? t("follow_up.by_ai_told", { told: pending.instructions }) : t("follow_up.by_ai")}</p>
      <p class="hint">${t("follow_up.by", { who: actorName(pending.created_by) })}</p>
      ${mayAct() && html`<p class="buttons">
        <button type="button" onClick=${() => (isEdited.value = true)}>${t("follow_up.edit")}</button>
        <button type="button" onClick=${() => (askedId.value = pending.id)}>${t("follow_up.cancel")}</button>
      </p>`}`
    : html`
      <p class="soft">${why ?? t("follow_up.none")}</p>
      ${mayAct() && !why && html`<button type="button" class="field-button" onClick=${() => (isEdited.value = true)}><${Icon} name="plus" /><span>${t("follow_up.schedule")}</span></button>`}`}
    ${isEdited.value && html`<${Edit} it=${it} onClose=${() => (isEdited.value = false)} />`}
    ${pending?.id === askedId.value && html`<${Confirm} title=${t("follow_up.cancel")} text=${t("follow_up.cancel_sure")} verb=${t("follow_up.cancel")}
      onYes=${() => void cancel()} onClose=${() => (askedId.value = "")} />`}
  </div>`;
}

/** Why none can be scheduled, as far as is plain from here. @param {Wire.Conversation} it */
function whyNone(it) {
  if (!takesMessages(it)) return t("follow_up.not.nobody");
  if (it.opted_out) return t("follow_up.not.opted_out");
  if (it.status === "closed") return t("follow_up.not.closed");
  if (it.mode === "HUMAN") return t("follow_up.not.human");
  return null;
}

/** @param {string} due */
function dueIn(due) {
  const left = Date.parse(due) - Math.max(minute.value, serverNow());
  return left > 0 ? t("follow_up.in", { time: span(left) }) : t("follow_up.due");
}

/**
 * Plans it in the place of the one that was opened, and beside none: that may have left meanwhile.
 * @param {string} id of the conversation @param {Wire.FollowUp | null} before @param {Record<string, any>} body
 */
export async function plan(id, before, body) {
  const now = conversation(id).peek()?.follow_up;
  if (now?.id !== before?.id) throw new Problem({ status: 409, code: before ? "follow_up_gone" : "follow_up_there" });
  amend(id, { follow_up: await put(`/conversations/${id}/follow-up`, body) });
}

/**
 * What stands in the field, which has no seconds. Left as it was it may be past, for one that the brake holds, and is that very moment.
 * @param {Wire.FollowUp | null} before @param {string} field
 */
export function dueAt(before, field) {
  const isAsBefore = before !== null && asField(new Date(before.due_at)) === field;
  return isAsBefore ? before.due_at : new Date(field).toISOString();
}

/** @param {{it: Wire.Conversation, onClose: () => void}} props */
export function Edit({ it, onClose }) {
  // What was opened, whatever becomes of it under the hands of whoever writes.
  const { current: before } = useRef(it.follow_up);
  const how = useSignal(before?.instructions ? "told" : before?.text || !before ? "text" : "ai");
  /** What is written for each: to look at another way takes none of it. */
  const { current: written } = useRef(/** @type {Record<string, string>} */ ({ text: before?.text ?? "", told: before?.instructions ?? "" }));
  const first = asField(before ? new Date(before.due_at) : dayAt(serverNow(), 1, 9));
  const at = useSignal(first);

  /** @param {FormData} given */
  async function send(given) {
    const words = String(given.get("words") ?? "").trim();
    const body = { due_at: dueAt(before, at.peek()), ...(how.peek() === "text" && { text: words }), ...(how.peek() === "told" && { instructions: words }) };
    await plan(it.id, before, body);
    onClose();
  }
  const quick = (/** @type {Date} */ when) => (at.value = asField(when));
  return html`<${Dialog} title=${before ? t("follow_up.edit_title") : t("follow_up.schedule")} onClose=${onClose}>
    <${Form} onSend=${send} words=${refusal}>
      <div class="field">
        <label for="follow-up-at">${t("follow_up.when")}</label>
        <input id="follow-up-at" type="datetime-local" required value=${at.value} min=${at.value === first ? undefined : asField(new Date(serverNow()))}
          onInput=${(/** @type {InputEvent} */ event) => (at.value = /** @type {HTMLInputElement} */ (event.target).value)} />
        <p class="buttons">
          <button type="button" class="tag" onClick=${() => quick(inMinutes(serverNow(), 60))}>${t("time.in_an_hour")}</button>
          <button type="button" class="tag" onClick=${() => quick(dayAt(serverNow(), 1, 9))}>${t("time.tomorrow")}</button>
          <button type="button" class="tag" onClick=${() => quick(dayAt(serverNow(), 3, 9))}>${t("time.in_three_days")}</button>
        </p>
      </div>
      <${OneOf} name="how" label=${t("follow_up.what")} value=${how.value} onChoose=${(/** @type {string} */ value) => (how.value = value)} options=${[
        { value: "text", words: t("follow_up.how.text") }, { value: "told", words: t("follow_up.how.told") }, { value: "ai", words: t("follow_up.how.ai") }]} />
      ${how.value !== "ai" && html`<${Field} key=${how.value} name="words" lines=${3} required autofocus=${how.value === "text"}
        label=${how.value === "text" ? t("follow_up.text") : t("follow_up.instructions")} initial=${written[how.value]}
        onInput=${(/** @type {any} */ event) => (written[how.peek()] = event.target.value)} />`}
      <p class="hint">${t("follow_up.until")}</p>
      <footer><button type="button" onClick=${onClose}>${t("cancel")}</button><${Send}>${t("save")}</${Send}></footer>
    </${Form}>
  </${Dialog}>`;
}

/** @type {Record<string, import("../words/index.js").Key>} */
const REFUSALS = { follow_up_gone: "follow_up.not.gone", follow_up_there: "follow_up.not.there" };
/** @param {Problem} problem */
const refusal = ({ code }) => (code in REFUSALS ? t(REFUSALS[code]) : null);
