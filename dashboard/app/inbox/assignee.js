// Whose conversation it is. Taking one that somebody else took meanwhile is refused, and said.

import { html } from "../vendor/preact.js";
import { mayAct, me } from "../state/session.js";
import { agents } from "../state/shelf.js";
import { Menu } from "../parts/menu.js";
import { t } from "../words/index.js";
import { assign, assignToMe, canHold } from "./acts.js";
import { personName } from "./names.js";

/** @import * as Wire from "../../types/wire.js" */

/** @param {{it: Wire.Conversation}} props */
export function Assignee({ it }) {
  const mine = me.value?.id;
  const name = it.assignee ? personName(it.assignee) : t("assignee.nobody");
  if (!mayAct()) return html`<p>${name}</p>`;
  // Of which channels a colleague sees, only an admin is told.
  const sees = (/** @type {Wire.Agent} */ one) => !one.channels || one.channels.includes(it.channel);
  const others = agents.items.value.filter((one) => !one.disabled && sees(one) && one.id !== it.assignee?.id && one.id !== mine);
  return html`<div class="assignee">
    <${Menu} class="field-button" icon="person" label=${t("assignee.change", { name })} words=${html`<span>${name}</span>`} items=${[
      it.assignee?.id !== mine && canHold() && { icon: "person", words: t("assignee.me"), run: () => void assignToMe(it) },
      ...others.map((one) => ({ icon: /** @type {const} */ ("people"), words: one.name, run: () => void assign(it, one.id) })),
      it.assignee && "line",
      it.assignee && { icon: "close", words: t("assignee.none"), run: () => void assign(it, null) },
    ]} />
    ${it.assignee?.id !== mine && canHold() && html`<button type="button" class="link" onClick=${() => void assignToMe(it)}>${t("assignee.me")}</button>`}
  </div>`;
}
