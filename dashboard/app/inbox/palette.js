// The palette: to a conversation by name, to a page, or to what can be done with the open one; without the mouse.

import { html, useEffect, useRef, useSignal } from "../vendor/preact.js";
import { filter } from "../state/conversations.js";
import { hear } from "../state/feed.js";
import { inboxAt } from "../state/filter.js";
import { go } from "../state/route.js";
import { mayAct } from "../state/session.js";
import { places } from "../places.js";
import { Problem, get } from "../wire/api.js";
import { Avatar } from "../parts/avatar.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { isComposing } from "../parts/keys.js";
import { t, word } from "../words/index.js";
import { answering, shown } from "./help.js";
import { canAct } from "./holding.js";
import { ModeSign } from "./mode_sign.js";
import { giveBack } from "./modes.js";
import { contactName } from "./names.js";
import { current, leaveUnread, opened } from "./opened.js";

/** @import * as Wire from "../../types/wire.js" */

const TYPED_MS = 150;
const FOUND_MAX = 8;
/** What moves through a list is no act of its own. */
const MOVES = new Set(["j", "k", "Enter", "mod+k"]);

/** @typedef {{id: string, words: string, kind: string, sign: any, key?: string, run: () => void}} Choice */

/** @param {{onClose: () => void}} props */
export function Palette({ onClose }) {
  const typed = useSignal("");
  const at = useSignal(0);
  const found = useSignal({ q: "", items: /** @type {Wire.Conversation[]} */ ([]) });
  const problem = useSignal(false);
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const q = typed.value.trim();
  const low = q.toLocaleLowerCase();
  useEffect(() => {
    const asked = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const { items } = await get("/conversations", { q, limit: FOUND_MAX }, asked.signal);
        found.value = { q, items };
        problem.value = false;
      } catch (error) {
        if (asked.signal.aborted) return;
        if (!(error instanceof Problem)) throw error;
        problem.value = true;
      }
    }, q ? TYPED_MS : 0);
    return () => (clearTimeout(timer), asked.abort());
  }, [q]);

  useEffect(() => hear(({ type, conversation_id: id }) => {
    if (type === "conversation_erased") found.value = { ...found.peek(), items: found.peek().items.filter((it) => it.id !== id) };
  }), []);

  // Whoever types faster than the server finds must not choose what was found for other words.
  const isMeant = (/** @type {Wire.Conversation} */ it) => found.value.q === q || contactName(it).toLocaleLowerCase().includes(low);
  /** @type {Choice[]} */
  const people = found.value.items.filter(isMeant).map((it) => ({
    id: it.id, words: contactName(it), kind: word("status", it.status), run: () => go(inboxAt(filter.peek(), it.id)),
    sign: html`<${Avatar} name=${it.contact.name} chat=${it.chat_id} /><${ModeSign} of=${it} />`,
  }));
  const others = [...acts(), ...pages()].filter(({ words }) => words.toLocaleLowerCase().includes(low));
  // With a name typed one looks for a person; with nothing typed, for what can be done here.
  const all = q ? [...people, ...others] : [...others.slice(0, 6), ...people, ...others.slice(6)];
  const chosen = Math.min(at.value, all.length - 1);
  useEffect(() => list.current?.children[chosen]?.scrollIntoView({ block: "nearest" }), [chosen]);

  /** @param {Choice | undefined} one */
  function choose(one) {
    if (!one) return;
    onClose();
    // After the dialog has given the focus back: what it does may take it.
    requestAnimationFrame(one.run);
  }
  /** @param {KeyboardEvent} event */
  function key(event) {
    if (isComposing(event)) return;
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by && all.length > 0) at.value = (chosen + by + all.length) % all.length;
    else if (event.key === "Enter") choose(all[chosen]);
    else return;
    event.preventDefault();
  }
  return html`<${Dialog} title=${t("palette")} onClose=${onClose}>
    <input class="palette-field" type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant=${all[chosen] ? `palette-${chosen}` : undefined}
      aria-autocomplete="list" aria-label=${t("palette.label")} placeholder=${t("palette.placeholder")} autofocus value=${typed.value} onKeyDown=${key}
      onInput=${(/** @type {InputEvent} */ event) => ((typed.value = /** @type {HTMLInputElement} */ (event.target).value), (at.value = 0))} />
    ${problem.value && html`<p class="problem" role="alert">${t("problem.unreachable")}</p>`}
    <ul id="palette-list" class="palette" role="listbox" aria-label=${t("palette.label")} ref=${list}>
      ${all.map((one, index) => html`<li key=${one.id} id="palette-${index}" role="option" aria-selected=${index === chosen} onClick=${() => choose(one)}>
        <span class="palette-sign">${one.sign}</span><span class="palette-words" dir="auto">${one.words}</span><small>${one.kind}</small>${one.key && html`<kbd>${shown(one.key)}</kbd>`}
      </li>`)}
    </ul>
    ${all.length === 0 && html`<p class="soft">${t("palette.none")}</p>`}
  </${Dialog}>`;
}

/** What the keys do here, and what has no key. @returns {Choice[]} */
export function acts() {
  const open = opened.value;
  const it = current.value;
  const kind = it ? contactName(it) : t("palette.here");
  /** @type {Choice[]} */
  const all = answering().filter(({ key }) => !MOVES.has(key)).map(({ key, words, run }) => ({
    id: `key ${key}`, words, kind: it ? kind : t("palette.here"), key, sign: html`<${Icon} name="bolt" />`, run: () => run(new KeyboardEvent("keydown", { key })),
  }));
  if (!open || !it || !mayAct()) return all;
  const more = (/** @type {import("../words/index.js").Key} */ key, /** @type {() => void} */ run) => all.push({ id: key, words: t(key), kind, sign: html`<${Icon} name="bolt" />`, run });
  if (canAct(it)) more(it.mode === "AI" ? "mode.answer_now" : "mode.give_answer", () => void giveBack(it, { answer_now: true }));
  more("thread.unread", () => leaveUnread(open));
  return all;
}

/** @returns {Choice[]} */
const pages = () => places().map(({ page, words, icon, href }) => ({ id: page, words: t(words), kind: t("palette.page"), sign: html`<${Icon} name=${icon} />`, run: () => go(href) }));
