// Private notes: for colleagues, never sent, never read by the AI.

import { html } from "../vendor/preact.js";
import { mayAct } from "../state/session.js";
import { Icon } from "../parts/icon.js";
import { isComposing } from "../parts/keys.js";
import { lately, moment, t } from "../words/index.js";
import { beside, clear, deskOf, lay } from "./desk.js";
import { authorName } from "./names.js";
import { seeThrough } from "./saying.js";
import { toMessage } from "./scroll.js";

/** @import { Thread } from "../state/thread.js" */

/** @param {{thread: Thread, isMerged: boolean}} props in one that was merged nobody writes any more */
export function Notes({ thread, isMerged }) {
  const desk = beside(thread.id);
  const written = deskOf(desk).value.text;
  const notes = thread.ordered.value.filter((it) => it.kind === "note").reverse();

  function add() {
    const text = written.trim();
    if (!text) return;
    const going = thread.say({ kind: "note", text, draft: null, quoted: null, file: null });
    clear(desk);
    void seeThrough(thread.id, going);
  }
  /** @param {Event} event */
  function submit(event) {
    event.preventDefault();
    add();
    // On the button, the next letters would be shortcuts.
    /** @type {HTMLFormElement} */ (event.currentTarget).querySelector("textarea")?.focus();
  }
  /** @param {KeyboardEvent} event */
  function key(event) {
    if (isComposing(event) || event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    add();
  }
  return html`<div class="notes">
    ${mayAct() && !isMerged && html`<form onSubmit=${submit}>
      <textarea rows="2" dir="auto" value=${written} placeholder=${t("notes.placeholder")} aria-label=${t("notes.add")} onKeyDown=${key}
        onInput=${(/** @type {InputEvent} */ event) => lay(desk, { text: /** @type {HTMLTextAreaElement} */ (event.target).value })}></textarea>
      <button>${t("notes.add")}</button>
    </form>`}
    <ul role="list">
      ${notes.map((it) => html`<li key=${it.id}>
        <p dir="auto">${it.text}</p>
        <p class="hint"><${Icon} name="note" /> ${authorName(it)} · <time datetime=${it.at} title=${moment(it.at)}>${lately(it.at)}</time>
          <button type="button" class="link" onClick=${() => void toMessage(thread, it.seq)}>${t("notes.show")}</button></p>
      </li>`)}
    </ul>
    ${notes.length === 0 && thread.isLoaded.value && html`<p class="soft">${t("notes.none")}</p>`}
    ${thread.hasOlder.value && html`<p class="hint">${t("notes.maybe_more")}</p>`}
  </div>`;
}
