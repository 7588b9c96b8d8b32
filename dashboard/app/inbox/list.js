// The conversations: groups, search, filters, and the list itself, gone through with j and k.

import { html, useCallback, useEffect, useMemo, useRef, useSignal } from "../vendor/preact.js";
import { again, conversation, counts, filter, hasMore, isHeld, isListed, list, listProblem, more, shorten } from "../state/conversations.js";
import { FIRST, inboxAt } from "../state/filter.js";
import { go, route } from "../state/route.js";
import { isAdminOfAll, seesAllOf } from "../state/session.js";
import { Icon } from "../parts/icon.js";
import { useKeys } from "../parts/keys.js";
import { problemText } from "../parts/toast.js";
import { t } from "../words/index.js";
import { Filters, Groups, Narrowed, Search, narrow } from "./filters.js";
import { Row, hrefOf, rowHeight } from "./row.js";
import { Virtual } from "./virtual.js";

const LIST = "conversations";
/** A mouse that rests for so long is not on its way to a row. */
const AIMING_MS = 600;

export function List() {
  const hands = useRef(/** @type {import("./virtual.js").Hands | null} */ (null));
  const selected = useSignal(/** @type {string | null} */ (null));
  const pane = useRef(/** @type {HTMLElement | null} */ (null));
  const height = useMemo(rowHeight, []);
  const ids = list.value;
  const openId = route.value.id;
  const here = selected.value && ids.includes(selected.value) ? selected.value : openId;
  const at = here ? ids.indexOf(here) : -1;
  /** Where it stood last, and in which list. */
  const stood = useRef({ of: filter.value, at: -1 });
  if (stood.current.of !== filter.value) stood.current = { of: filter.value, at: -1 };
  if (at >= 0 && isListed.value) stood.current.at = at;

  /** Selects a row, shows it, and gives it the focus. @param {number} to */
  function select(to) {
    const id = list.peek()[Math.max(0, Math.min(list.peek().length - 1, to))];
    if (!id) return;
    selected.value = id;
    hands.current?.show(list.peek().indexOf(id));
    const focus = () => {
      const row = pane.current?.querySelector(`[data-row="${CSS.escape(id)}"]`);
      if (row instanceof HTMLElement) row.focus({ preventScroll: true });
      return row !== null;
    };
    // At once, for the next key; a row that is out of view has to be drawn first.
    if (!focus()) requestAnimationFrame(focus);
  }
  const pick = useCallback((/** @type {string} */ id) => (selected.value = id), []);
  // Another list has nothing selected but what is open.
  useEffect(() => {
    selected.value = null;
  }, [filter.value]);
  useEffect(() => {
    if (hands.current?.isAtTop()) shorten();
  }, [ids]);
  useKeys([
    { key: "j", words: t("keys.next"), repeats: true, run: () => select(step(at, stood.current.at, 1)) },
    { key: "k", words: t("keys.previous"), repeats: true, run: () => select(step(at, stood.current.at, -1)) },
    { key: "Enter", words: t("keys.open"), run: () => here && openHere(here) },
  ], [at, here]);

  return html`<section class="list" ref=${pane} aria-label=${t("list")}>
    <header class="list-head">
      <${Groups} controls=${LIST} />
      <div class="list-tools"><${Search} onDown=${() => select(0)} /><${Filters} /></div>
      <${Narrowed} />
    </header>
    <div id=${LIST} class="list-body" role="tabpanel" aria-label=${t("list")} aria-busy=${!isListed.value}
        onPointerMove=${aim} onPointerDown=${hold} onPointerUp=${letGo} onPointerCancel=${letGo} onPointerLeave=${letGo}>
      <${Virtual} ids=${ids} height=${height} label=${t("list")} pinned=${at} reset=${filter.value} hands=${hands} onNearEnd=${() => void more()}
          row=${(/** @type {string} */ id, /** @type {number} */ index) => html`<${Row} id=${id} isOpen=${id === openId} isSelected=${id === selected.value}
            canTab=${at < 0 ? index === 0 : index === at} onSelect=${pick} />`}>
        <${Foot} />
      </${Virtual}>
    </div>
  </section>`;
}

/**
 * Where a key leads to. One that was dealt with has left the list, and the next has come to its place.
 * @param {number} at less than 0: it is not in the list @param {number} stood where it stood last, if anywhere @param {1 | -1} by
 */
export function step(at, stood, by) {
  if (at >= 0) return Math.max(0, at + by);
  return Math.max(0, by > 0 ? stood : stood - 1);
}

/** As a click on its row. @param {string} id */
function openHere(id) {
  const it = conversation(id).peek();
  go(it ? hrefOf(it) : inboxAt(filter.peek(), id));
}

let releaseDue = 0;
/** @param {number} ms */
function release(ms) {
  clearTimeout(releaseDue);
  releaseDue = window.setTimeout(() => (isHeld.value = false), ms);
}

/** Whoever presses a row presses that one. */
export function hold() {
  clearTimeout(releaseDue);
  isHeld.value = true;
}

// The click comes after the finger is lifted: the order waits for it.
export const letGo = () => release(0);

/**
 * Whoever moves the mouse there is about to press: until it rests, no other row comes under it. Browsers tell of moves that are
 * none, too, when it is the rows that have moved.
 * @param {Pick<PointerEvent, "pointerType" | "buttons" | "movementX" | "movementY">} event
 */
export function aim({ pointerType, buttons, movementX, movementY }) {
  if (pointerType !== "mouse" || buttons > 0 || (movementX === 0 && movementY === 0)) return;
  isHeld.value = true;
  release(AIMING_MS);
}

/** Below the last row: that there is more, that it could not be loaded, or why there is nothing. */
function Foot() {
  const problem = listProblem.value;
  if (problem) return html`<p class="list-foot" role="alert">${problemText(problem)} <button type="button" onClick=${() => void again()}>${t("retry")}</button></p>`;
  if (!isListed.value) return list.value.length === 0 && html`<p class="list-foot soft" role="status">${t("loading")}</p>`;
  if (hasMore.value) return html`<p class="list-foot soft">${t("loading")}</p>`;
  return list.value.length === 0 && html`<${Empty} />`;
}

export function Empty() {
  const { group, q, ...rest } = filter.value;
  const isNarrow = Object.entries(rest).some(([name, value]) => value !== /** @type {any} */ (FIRST)[name]);
  const isEverywhere = group === "all" && filter.value.status === null;
  if (q) return html`<div class="empty">
    <p>${t("list.nothing_found", { q })}</p>
    ${!isEverywhere && html`<button type="button" onClick=${() => narrow({ ...FIRST, status: null, q })}>${t("list.search_all")}</button>`}
  </div>`;
  if (isNarrow) return html`<div class="empty">
    <p>${t("list.nothing_so")}</p>
    <button type="button" onClick=${() => narrow({ ...FIRST, group })}>${t("list.drop_filters")}</button>
  </div>`;
  if (group === "all" || counts.value?.all === 0) return html`<div class="empty">
    <p>${t("list.none_yet")}</p>
    ${seesAllOf(["sandbox"]) && html`<a class="button" href="/playground" data-within><${Icon} name="phone" />${t("list.play")}</a>`}
    ${isAdminOfAll() && html`<a class="button" href="/settings/channels" data-within>${t("list.connect")}</a>`}
  </div>`;
  return html`<div class="empty">
    <p>${group === "needs_you" ? t("list.none_needs_you") : group === "mine" ? t("list.none_mine") : t("list.none_ai")}</p>
    <button type="button" onClick=${() => narrow({ group: "all" })}>${t("list.show_all")}</button>
  </div>`;
}
