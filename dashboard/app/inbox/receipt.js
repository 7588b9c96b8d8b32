// Under the pill: what the last switch did, or why it did not.

import { html, useRef } from "../vendor/preact.js";
import { Icon } from "../parts/icon.js";
import { useKeptFocus } from "../parts/kept_focus.js";
import { problemText } from "../parts/toast.js";
import { appointment, span, t } from "../words/index.js";
import { canAct, heldBy } from "./holding.js";
import { dropOutcome, giveBack, outcomes, takeOver } from "./modes.js";
import { holderName } from "./names.js";
import { sentences, unsettled } from "./receipts.js";

/** @import * as Wire from "../../types/wire.js" */

/** What else can be done about who answers: it stays when what was pressed beside it goes. @param {HTMLElement | null} near */
export const menuOf = (near) => near?.closest(".mode-bar")?.querySelector("[aria-haspopup=menu]");

/** @param {{it: Wire.Conversation}} props */
export function Outcome({ it }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const outcome = outcomes.value.get(it.id);
  useKeptFocus(box, () => menuOf(box.current));
  // The region is there before its words are, or a reader would not hear of them.
  return html`<div class="outcome" role="status" ref=${box}>${outcome && html`<${Result} it=${it} outcome=${outcome} />`}</div>`;
}

/** @param {{it: Wire.Conversation, outcome: import("./modes.js").Outcome}} props */
export function Result({ it, outcome: { receipt, problem, conflict, isSettled, isSure, asked } }) {
  return html`
    ${receipt && html`<${Receipt} it=${it} receipt=${receipt} isSettled=${isSettled} isSure=${isSure} asked=${asked} />`}
    ${conflict && html`<${Said} it=${it} look="is-warn" text=${t("mode.conflict", { who: holderName(heldBy(conflict)) })} />`}
    ${problem && !conflict && problem.code !== "no_model" && html`<${Said} it=${it} look="is-bad" text=${notChanged(problem)}>
      ${it.mode === "AI" && html`<button type="button" onClick=${() => void takeOver(it)}><${Icon} name="retry" />${t("mode.take_again")}</button>`}
    </${Said}>`}`;
}

/** @param {import("../wire/api.js").Problem} problem */
const notChanged = (problem) => (problem.mayBeDone ? problemText(problem) : t("mode.not_changed", { why: problemText(problem) }));

/** @param {{it: Wire.Conversation, receipt: Wire.Receipt, isSettled: boolean, isSure: boolean, asked: "answer" | "clock" | null}} props */
function Receipt({ it, receipt, isSettled, isSure, asked }) {
  const open = unsettled({ ...receipt, settled: isSettled });
  const isOurs = receipt.mode === "HUMAN" && it.mode === "HUMAN" && canAct(it);
  return html`<${Said} it=${it} look=${open.length > 0 ? "is-warn" : "is-good"} text=${asked !== "clock" ? words(sentences(receipt, isSure)) : receipt.mode_until ? t("receipt.clock", { when: appointment(receipt.mode_until) }) : t("receipt.clock_stopped")}>
    ${receipt.mode === "AI" && asked === "answer" && !receipt.answering && html`<b>${t("receipt.nothing_to_answer")}</b>`}
    ${open.length > 0 && html`<b class="unsettled">${words(open)}</b>`}
    ${isSettled && !receipt.settled && receipt.in_flight.length === 0 && html`<b>${t("receipt.settled")}</b>`}
    ${isOurs && receipt.changed && html`<button type="button" onClick=${() => void giveBack(it)}><${Icon} name="undo" />${t("receipt.undo")}</button>`}
  </${Said}>`;
}

/** @param {import("./receipts.js").Sentence[]} all */
const words = (all) => all.map(({ key, given = {}, ms }) => t(/** @type {any} */ (key), ms === undefined ? given : { ...given, time: span(ms) })).join(" ");

/** @param {{it: Wire.Conversation, look: string, text: string, children?: any}} props */
function Said({ it, look, text, children }) {
  return html`<div class="said ${look}">
    <${Icon} name=${look === "is-good" ? "check" : "alert"} />
    <p>${text} ${children}</p>
    <button type="button" class="bare" aria-label=${t("close")} onClick=${() => dropOutcome(it.id)}><${Icon} name="close" /></button>
  </div>`;
}
