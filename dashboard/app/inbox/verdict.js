// Below a message that the AI did not answer: why, in plain words, and the button that mends it.

import { html, useSignal } from "../vendor/preact.js";
import { isAdmin, mayAct } from "../state/session.js";
import { Problem, get, post } from "../wire/api.js";
import { Icon } from "../parts/icon.js";
import { problemText, say, sayProblem } from "../parts/toast.js";
import { t, word } from "../words/index.js";
import { canAct } from "./holding.js";
import { giveBack } from "./modes.js";
import { letterOf } from "./verdicts.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Verdict as Found } from "./verdicts.js" */

/** @param {{it: Wire.Message, found: Found, count: number, conversation: Wire.Conversation, onReply: () => void}} props */
export function Verdict({ it, found, count, conversation, onReply }) {
  const isBusy = useSignal(false);
  const words = found.why === "person_answered" ? t("verdict.person_answered", { name: found.by ?? t("actor.agent") }) : word("verdict", found.why);

  const isHeld = conversation.mode === "HUMAN";
  /** Once, however often it is pressed. @param {() => Promise<any>} what */
  async function act(what) {
    isBusy.value = true;
    try {
      await what();
    } catch (error) {
      if (error instanceof Problem && error.status === 409) say(problemText(error));
      else sayProblem(error);
    } finally {
      isBusy.value = false;
    }
  }
  const answer = () => giveBack(conversation, { answer_now: true });
  async function retry() {
    // Letters are replayed by admins; whoever may only answer asks for an answer, and so does a question without a letter.
    const { items } = isAdmin() ? await get("/dead-letters", { conversation_id: conversation.id, limit: 50 }) : { items: [] };
    const letter = letterOf(items, it.id);
    if (!letter) return void (await answer());
    // The button has said that it takes the conversation from a person.
    await post(`/dead-letters/${letter.id}/retry`, isHeld ? { force: true } : {});
    say(t("verdict.retried"));
  }
  const mayAnswer = mayAct() && canAct(conversation);
  return html`<div class="verdict is-${found.tone}">
    <${Icon} name=${found.tone === "wait" ? "clock" : found.tone === "bad" ? "alert" : "check"} />
    <p>${count > 1 && html`<b>${t("verdict.count", { count })}</b> `}${words}</p>
    ${found.acts.includes("retry") && mayAnswer && html`<button type="button" disabled=${isBusy.value} onClick=${() => void act(retry)}>
      <${Icon} name="retry" />${isHeld ? t("verdict.give_back_answer") : t("verdict.retry")}</button>`}
    ${found.acts.includes("answer") && mayAnswer && html`<button type="button" disabled=${isBusy.value} onClick=${() => void act(answer)}>
      <${Icon} name="spark" />${conversation.mode === "AI" ? t("verdict.answer") : t("verdict.give_back_answer")}</button>`}
    ${found.acts.includes("reply") && mayAct() && html`<button type="button" onClick=${onReply}><${Icon} name="reply" />${t("verdict.reply")}</button>`}
    ${found.acts.includes("rule") && isAdmin() && html`<a class="button" href="/settings/channels/${encodeURIComponent(conversation.channel)}" data-within>${t("verdict.rule")}</a>`}
  </div>`;
}
