// Who answers: one pill, always in the same place, and beside it the button that changes it. What is pressed shows before
// the server has said anything.

import { html, useRef, useSignal } from "../vendor/preact.js";
import { mayAct } from "../state/session.js";
import { Confirm } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { useKeptFocus } from "../parts/kept_focus.js";
import { useKeys } from "../parts/keys.js";
import { say } from "../parts/toast.js";
import { t } from "../words/index.js";
import { canHold } from "./acts.js";
import { BackClock } from "./back_clock.js";
import { heldBy } from "./holding.js";
import { ModeMenu } from "./mode_menu.js";
import { modeSign } from "./mode_sign.js";
import { giveBack, isModelMissing, pressed, takeFrom, takeOver } from "./modes.js";
import { holderName } from "./names.js";
import { Outcome, menuOf } from "./receipt.js";

/** @import * as Wire from "../../types/wire.js" */

/** @param {{it: Wire.Conversation}} props */
export function Mode({ it }) {
  const isAsked = useSignal(false);
  const acts = useRef(/** @type {HTMLElement | null} */ (null));
  // The menu is always there. On the other of both buttons a second press would undo the first.
  useKeptFocus(acts, () => menuOf(acts.current));
  const held = heldBy(it);
  const isOthers = held.who === "agent";
  const going = pressed.value.get(it.id)?.to ?? null;
  const sign = going === "HUMAN" ? { look: "human", icon: /** @type {const} */ ("person"), words: t("mode.taking") }
    : going === "AI" ? { look: "ai", icon: /** @type {const} */ ("spark"), words: t("mode.giving") }
    : modeSign(it);

  function take() {
    if (!mayAct() || going === "HUMAN") return;
    if (isOthers && canHold()) void takeFrom(it);
    else void takeOver(it);
  }
  function give() {
    if (!mayAct() || going === "AI") return;
    if (it.mode === "AI") say(t("mode.ai_already"));
    else if (isOthers) isAsked.value = true;
    else void giveBack(it);
  }
  useKeys([
    { key: "t", words: t("keys.take"), run: take },
    { key: "g", words: t("keys.give"), run: give },
  ], [it, isOthers]);

  return html`<div class="mode-bar is-${sign.look}">
    <div class="mode-line">
      <p class="mode-pill ${going ? "is-going" : ""}" role="status" aria-label=${t("mode.who")}><${Icon} name=${sign.icon} /><span>${sign.words}</span></p>
      ${it.mode_until && it.mode === "HUMAN" && !going && html`<${BackClock} it=${it} />`}
      ${mayAct() && html`<div class="mode-acts" ref=${acts}>
        ${isOthers ? canHold() && html`<button type="button" onClick=${take}><${Icon} name="hand" />${t("mode.take_from", { name: holderName(held) })}<kbd aria-hidden="true">t</kbd></button>`
        : (it.mode === "AI" || held.who === "nobody") && html`<button type="button" class="take" aria-keyshortcuts="t" aria-disabled=${going === "HUMAN" ? "true" : undefined} onClick=${take}><${Icon} name="hand" />${t("mode.take")}<kbd aria-hidden="true">t</kbd></button>`}
        ${it.mode === "HUMAN" && !isOthers && html`<button type="button" aria-keyshortcuts="g" aria-disabled=${going === "AI" ? "true" : undefined} onClick=${give}><${Icon} name="spark" />${t("mode.give")}<kbd aria-hidden="true">g</kbd></button>`}
        <${ModeMenu} it=${it} isOthers=${isOthers} onGive=${give} />
      </div>`}
    </div>
    ${isModelMissing.value && html`<p class="mode-said"><${Icon} name="alert" />${t("mode.no_model")}</p>`}
    <${Outcome} it=${it} />
    ${isAsked.value && html`<${Confirm} title=${t("mode.give")} text=${t("mode.give_sure", { name: holderName(held) })} verb=${t("mode.give")}
      onYes=${() => void giveBack(it)} onClose=${() => (isAsked.value = false)} />`}
  </div>`;
}
