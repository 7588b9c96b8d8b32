// The labels of a conversation: taken away one by one, added from a list that narrows as one types.

import { html, useRef, useSignal } from "../vendor/preact.js";
import { isAdminOfAll, mayAct } from "../state/session.js";
import { label, labels } from "../state/shelf.js";
import { Icon } from "../parts/icon.js";
import { useKeptFocus } from "../parts/kept_focus.js";
import { Popover } from "../parts/popover.js";
import { t } from "../words/index.js";
import { change } from "./acts.js";

/** @import * as Wire from "../../types/wire.js" */

/** @param {{it: Wire.Conversation}} props */
export function Labels({ it }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useKeptFocus(box, () => box.current?.querySelector(".field-button"));
  return html`<div class="labels" ref=${box}>
    ${it.labels.map((name) => html`<span key=${name} class="tag on-label">
      <${Dot} colour=${label(name)?.colour} />${name}
      ${mayAct() && html`<button type="button" class="bare" aria-label=${t("label.remove", { name })} onClick=${() => void change(it.id, { remove_labels: [name] })}><${Icon} name="close" /></button>`}
    </span>`)}
    ${mayAct() && html`<${Popover} class="field-button" icon="plus" words=${html`<span>${t("label.add")}</span>`} panelLabel=${t("label.add")}
        onOpened=${(/** @type {HTMLElement} */ panel) => panel.querySelector("input")?.focus()}>
      ${(/** @type {() => void} */ close) => html`<${Choice} it=${it} close=${close} />`}
    </${Popover}>`}
  </div>`;
}

/** A label's colour is the customer's own choice; the name beside it is what tells. @param {{colour: string | undefined}} props */
const Dot = ({ colour }) => html`<span class="label-dot" aria-hidden="true" style=${{ background: colour ?? "currentColor" }}></span>`;

/** @param {{it: Wire.Conversation, close: () => void}} props */
function Choice({ it, close }) {
  const typed = useSignal("");
  const wanted = typed.value.trim().toLocaleLowerCase();
  const free = labels.items.value.filter(({ name }) => !it.labels.includes(name));
  const found = free.filter(({ name }) => name.toLocaleLowerCase().includes(wanted));
  const add = (/** @type {string} */ name) => (close(), void change(it.id, { add_labels: [name] }));
  if (free.length === 0) return html`<p class="label-none">${labels.items.value.length === 0 ? t("label.none") : t("label.all_on")}
    ${isAdminOfAll() && html` <a href="/settings/labels" data-within onClick=${close}>${t("label.manage")}</a>`}</p>`;
  return html`<form class="label-choice" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), found[0] && add(found[0].name))}>
    <input type="text" value=${typed.value} placeholder=${t("label.find")} aria-label=${t("label.find")}
      onInput=${(/** @type {InputEvent} */ event) => (typed.value = /** @type {HTMLInputElement} */ (event.target).value)} />
    ${found.map(({ name, colour, description }) => html`<button key=${name} type="button" class="bare" onClick=${() => add(name)}>
      <${Dot} colour=${colour} /><span>${name}${description && html`<small>${description}</small>`}</span>
    </button>`)}
    ${found.length === 0 && html`<p class="hint">${t("label.not_found")}</p>`}
  </form>`;
}
