// A menu: what can be done, opened by a button, gone through with the arrow keys.

import { html } from "../vendor/preact.js";
import { Icon } from "./icon.js";
import { Popover } from "./popover.js";

/**
 * @typedef {{words: string, run: () => void, icon?: import("./icon.js").IconName, hint?: string, isChecked?: boolean, isDanger?: boolean, key?: string}} Item
 *   `isChecked`, true or false, makes it one that is on or off; `key` is only shown.
 * @param {{
 *   items: (Item | "line" | {title: string} | false | null | undefined)[],
 *   label?: string, words?: any, icon?: import("./icon.js").IconName, class?: string, title?: string, menuLabel?: string, disabled?: boolean,
 * }} props
 */
export function Menu({ items, menuLabel, ...button }) {
  return html`<${Popover} kind="menu" ...${button} onOpened=${(/** @type {HTMLElement} */ panel) => step(panel, 0)}>
    ${(/** @type {() => void} */ close) => html`<div role="menu" class="menu" aria-label=${menuLabel ?? button.label} onKeyDown=${arrows}>
      ${items.map((item) => item && (
        item === "line" ? html`<hr role="separator" />`
        : "title" in item ? html`<p class="menu-title" role="presentation">${item.title}</p>`
        : html`<${One} key=${item.words} item=${item} close=${close} />`))}
    </div>`}
  </${Popover}>`;
}

/** @param {{item: Item, close: () => void}} props */
function One({ item, close }) {
  const isToggle = item.isChecked !== undefined;
  // Closed first: what it does may open something that takes the focus.
  const choose = () => (close(), item.run());
  return html`<button type="button" role=${isToggle ? "menuitemcheckbox" : "menuitem"} aria-checked=${isToggle ? item.isChecked : undefined}
      tabindex="-1" class=${item.isDanger ? "is-danger" : ""} onClick=${choose}>
    ${isToggle ? html`<span class="menu-mark">${item.isChecked && html`<${Icon} name="check" />`}</span>` : item.icon && html`<${Icon} name=${item.icon} />`}
    <span>${item.words}${item.hint && html`<small>${item.hint}</small>`}</span>
    ${item.key && html`<kbd aria-hidden="true">${item.key}</kbd>`}
  </button>`;
}

/** @param {HTMLElement} menu @param {number} by 0: to the first; Infinity: to the last */
function step(menu, by) {
  const all = [...menu.querySelectorAll("[role^=menuitem]")];
  const at = all.indexOf(/** @type {Element} */ (document.activeElement));
  const to = by === 0 ? all[0] : all.at(by === Infinity ? -1 : (at + by) % all.length);
  if (to instanceof HTMLElement) to.focus();
}

/** @param {KeyboardEvent} event */
function arrows(event) {
  const menu = /** @type {HTMLElement} */ (event.currentTarget);
  // Closed, it gives the focus back to its button, and from there the key goes its way.
  if (event.key === "Tab") /** @type {HTMLElement | null} */ (menu.closest("[popover]"))?.hidePopover();
  const by = { ArrowDown: 1, ArrowUp: -1, Home: 0, End: Infinity }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  step(menu, by);
}
