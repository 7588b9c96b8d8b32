// Which conversations are looked at: the groups as tabs, the search, and the few filters behind one button.

import { html, useEffect, useRef, useSignal } from "../vendor/preact.js";
import { counts, filter } from "../state/conversations.js";
import { FIRST, GROUPS, inboxAt } from "../state/filter.js";
import { go, route } from "../state/route.js";
import { agents, channelTitle, channels, labels } from "../state/shelf.js";
import { Icon } from "../parts/icon.js";
import { useKeptFocus } from "../parts/kept_focus.js";
import { isComposing, useKeys } from "../parts/keys.js";
import { Popover } from "../parts/popover.js";
import { number, t, word } from "../words/index.js";

/** @import { Filter } from "../state/filter.js" */

/** After the last letter: nobody's typing asks the server at each. */
const TYPED_MS = 250;

/** Another list is another address, so that a reload and the way back find it again. @param {Partial<Filter>} change */
export function narrow(change) {
  const { id, query } = route.peek();
  const before = filter.peek();
  // Each letter of a search is not a place of its own.
  const isTyping = before.q !== "" && Object.keys(change).every((name) => name === "q");
  go(inboxAt({ ...before, ...change }, id, query.get("seq")), { replace: isTyping });
}

/** @param {{controls: string}} props the id of the list below */
export function Groups({ controls }) {
  const { group } = filter.value;
  /** @param {KeyboardEvent} event */
  function arrows(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const to = GROUPS[(GROUPS.indexOf(group) + by + GROUPS.length) % GROUPS.length];
    narrow({ group: to });
    const tab = /** @type {HTMLElement} */ (event.currentTarget).querySelector(`[data-group=${to}]`);
    if (tab instanceof HTMLElement) tab.focus();
  }
  return html`<div class="groups" role="tablist" aria-label=${t("groups")} onKeyDown=${arrows}>
    ${GROUPS.map((one) => html`<button key=${one} type="button" role="tab" data-group=${one} aria-selected=${one === group} aria-controls=${controls}
        tabindex=${one === group ? 0 : -1} class=${one === "needs_you" && counts.value?.needs_you ? "is-urgent" : ""} onClick=${() => narrow({ group: one })}>
      ${word("group", one)} <span class="count">${counts.value ? number(counts.value[one]) : ""}</span>
    </button>`)}
  </div>`;
}

/** @param {{onDown: () => void}} props what the arrow down does: into the list */
export function Search({ onDown }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const typed = useSignal(filter.peek().q);
  /** What this field has asked for itself. */
  const asked = useRef(typed.peek());
  useKeys([{ key: "/", words: t("keys.search"), run: () => field.current?.focus() }], []);
  useEffect(() => {
    if (typed.value === filter.peek().q) return;
    const timer = setTimeout(() => narrow({ q: (asked.current = typed.value.trim()) }), typed.value ? TYPED_MS : 0);
    return () => clearTimeout(timer);
  }, [typed.value]);
  // Cleared, or said otherwise, from elsewhere: by a button, or on the way back.
  useEffect(() => {
    const { q } = filter.value;
    if (!q || q !== asked.current) typed.value = asked.current = q;
  }, [filter.value.q]);

  /** @param {KeyboardEvent} event */
  function key(event) {
    if (isComposing(event)) return;
    if (event.key === "Escape") {
      // The first empties it, the second leaves it.
      if (typed.peek()) typed.value = "";
      else field.current?.blur();
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      onDown();
    }
  }
  return html`<div class="search" role="search">
    <${Icon} name="search" />
    <input ref=${field} type="search" value=${typed.value} placeholder=${t("search.placeholder")} aria-label=${t("search")} aria-keyshortcuts="/"
      onInput=${(/** @type {InputEvent} */ event) => (typed.value = /** @type {HTMLInputElement} */ (event.target).value)} onKeyDown=${key} />
    ${typed.value ? html`<button type="button" class="bare" aria-label=${t("search.clear")} onClick=${() => ((typed.value = ""), field.current?.focus())}><${Icon} name="close" /></button>`
      : html`<kbd aria-hidden="true">/</kbd>`}
  </div>`;
}

/** What narrows the list beyond its group, each with the words that say so. */
function narrowed() {
  const { status, channel, label, assignee, unread } = filter.value;
  /** @type {{words: string, undo: Partial<Filter>}[]} */
  const all = [];
  if (status !== FIRST.status) all.push({ words: status ? word("status", status) : t("filter.any_status"), undo: { status: FIRST.status } });
  if (channel) all.push({ words: channelTitle(channel), undo: { channel: null } });
  if (label) all.push({ words: label, undo: { label: null } });
  if (assignee) all.push({ words: assignee === "none" ? t("filter.nobody") : agents.items.value.find(({ id }) => id === assignee)?.name ?? assignee, undo: { assignee: null } });
  if (unread) all.push({ words: t("filter.unread"), undo: { unread: false } });
  return all;
}

export function Filters() {
  const count = narrowed().length;
  return html`<${Popover} icon="filter" label=${count ? t("filter.on", { count }) : t("filter")} class="bare filter-button ${count ? "is-on" : ""}" panelLabel=${t("filter")}>
    ${() => html`<${Fields} />`}
  </${Popover}>`;
}

function Fields() {
  const { status, channel, label, assignee, unread } = filter.value;
  return html`<form class="filter-fields" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    <${Choice} words=${t("filter.status")} value=${status ?? ""} onChoose=${(/** @type {any} */ value) => narrow({ status: value || null })}
      options=${[["open", word("status", "open")], ["snoozed", word("status", "snoozed")], ["closed", word("status", "closed")], ["", t("filter.any")]]} />
    ${channels.items.value.length > 1 && html`<${Choice} words=${t("filter.channel")} value=${channel ?? ""} onChoose=${(/** @type {string} */ value) => narrow({ channel: value || null })}
      options=${[["", t("filter.any")], ...channels.items.value.map(({ name }) => [name, channelTitle(name)])]} />`}
    ${labels.items.value.length > 0 && html`<${Choice} words=${t("filter.label")} value=${label ?? ""} onChoose=${(/** @type {string} */ value) => narrow({ label: value || null })}
      options=${[["", t("filter.any")], ...labels.items.value.map(({ name }) => [name, name])]} />`}
    ${agents.items.value.length > 0 && html`<${Choice} words=${t("filter.assignee")} value=${assignee ?? ""} onChoose=${(/** @type {string} */ value) => narrow({ assignee: value || null })}
      options=${[["", t("filter.anybody")], ["none", t("filter.nobody")], ...agents.items.value.filter((it) => !it.disabled).map(({ id, name }) => [id, name])]} />`}
    <label class="is-check"><input type="checkbox" checked=${unread} onChange=${() => narrow({ unread: !unread })} /><span>${t("filter.unread")}</span></label>
  </form>`;
}

/** @param {{words: string, value: string, options: [string, string][], onChoose: (value: string) => void}} props */
function Choice({ words, value, options, onChoose }) {
  return html`<label>${words}
    <select onChange=${(/** @type {Event} */ event) => onChoose(/** @type {HTMLSelectElement} */ (event.target).value)}>
      ${options.map(([one, name]) => html`<option key=${one} value=${one} selected=${one === value}>${name}</option>`)}
    </select>
  </label>`;
}

/** The filters in force, each with the button that takes it away. */
export function Narrowed() {
  const all = narrowed();
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useKeptFocus(box, () => box.current?.querySelector("button") ?? document.querySelector(".filter-button"));
  if (all.length === 0) return null;
  return html`<ul role="list" ref=${box} class="narrowed" aria-label=${t("filter.in_force")}>
    ${all.map(({ words, undo }) => html`<li key=${words}>
      <button type="button" class="tag" onClick=${() => narrow(undo)} aria-label=${t("filter.drop", { words })}>${words}<${Icon} name="close" /></button>
    </li>`)}
  </ul>`;
}
