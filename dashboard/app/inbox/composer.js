// Where an agent writes: to the contact, or a note for colleagues. What is sent leaves the field at once and stands in the
// thread as not confirmed, until the server has it.

import { html, useEffect, useLayoutEffect, useRef, useSignal } from "../vendor/preact.js";
import { prefer, preferences } from "../state/preferences.js";
import { isReadable } from "../state/bringing.js";
import { me } from "../state/session.js";
import { cannedReplies, channelTitle, channels } from "../state/shelf.js";
import { Icon } from "../parts/icon.js";
import { MOD, isComposing } from "../parts/keys.js";
import { isLinked, stateMeans, stateName } from "../parts/linked.js";
import { sayProblem } from "../parts/toast.js";
import { number, t } from "../words/index.js";
import { Attach, Attached, firstOf, pastedFiles } from "./attached.js";
import { Canned, SHOWN, optionId } from "./canned.js";
import { deskOf, draftOf, lay, letGo } from "./desk.js";
import { heldBy } from "./holding.js";
import { authorName, holderName } from "./names.js";
import { sayWritten, seeThrough } from "./saying.js";
import { summary } from "./summary.js";
import { fill, matching, slashed, unfilled, valuesOf } from "./variables.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Opened } from "./opened.js" */

/** What the server takes of one text, in characters. */
const TEXT_MAX = 20_000;
/** What it takes under a file. */
const CAPTION_MAX = 1_024;
/** WhatsApp's own limit of one message: Baton cuts what is longer. */
const MESSAGE_MAX = 4_096;
/** After the last key for so long, one is no longer seen as writing. */
const WRITING_MS = 5_000;
/** The field grows to so much, then scrolls. */
const GROWN_PX = 220;

/** Browsers that let a field grow by itself. */
const GROWS = CSS.supports("field-sizing", "content");
const isTouch = matchMedia("(pointer: coarse)").matches;

/**
 * @param {{
 *   it: Wire.Conversation, open: Opened, field: {current: HTMLTextAreaElement | null}, tools?: any,
 *   takes: {current: ((files: FileList | undefined, event?: Event) => void) | null},
 * }} props `takes` is what is done with files that are let go elsewhere
 */
export function Composer({ it, open, field, tools, takes }) {
  const desk = deskOf(it.id).value;
  const said = useSignal("");
  const chosen = useSignal(0);
  const caret = useSignal(desk.text.length);
  const isShut = useSignal(false);
  const quiet = useRef(0);
  const { enterSends } = preferences.value;

  const asked = desk.isNote || isShut.value ? null : slashed(desk.text.slice(0, caret.value));
  const found = asked ? matching(cannedReplies.items.value.filter((one) => !one.channels || one.channels.includes(it.channel)), asked.q).slice(0, SHOWN) : [];
  const values = valuesOf({ contact: it.contact, agent: me.value?.name ?? null, channel: channelTitle(it.channel) });
  const missing = desk.isNote ? [] : unfilled(desk.text);
  const file = desk.isNote ? null : desk.file;
  const max = file ? CAPTION_MAX : TEXT_MAX;
  const over = desk.text.length > max ? [...desk.text].length - max : 0;
  const canSend = (desk.text.trim() !== "" || file) && missing.length === 0 && over <= 0;

  useLayoutEffect(() => {
    const shown = field.current;
    if (!shown || GROWS) return;
    shown.style.height = "auto";
    shown.style.height = `${Math.min(shown.scrollHeight + 2, GROWN_PX)}px`;
  }, [desk.text]);
  useEffect(() => () => {
    clearTimeout(quiet.current);
    open.live.be("viewing");
  }, []);

  /** @param {InputEvent} event */
  function type(event) {
    const { value, selectionStart } = /** @type {HTMLTextAreaElement} */ (event.target);
    lay(it.id, { text: value });
    caret.value = selectionStart;
    chosen.value = 0;
    isShut.value = false;
    said.value = "";
    if (desk.isNote) return;
    open.live.be("writing");
    clearTimeout(quiet.current);
    quiet.current = window.setTimeout(() => open.live.be("viewing"), WRITING_MS);
  }
  /** @param {Wire.CannedReply} one */
  function choose(one) {
    if (!asked) return;
    const words = fill(one.text, values);
    const text = desk.text.slice(0, asked.from) + words + desk.text.slice(caret.peek());
    lay(it.id, { text });
    caret.value = asked.from + words.length;
    requestAnimationFrame(() => {
      field.current?.focus();
      field.current?.setSelectionRange(caret.peek(), caret.peek());
    });
  }
  function send() {
    // On the button, the next letters would be shortcuts.
    field.current?.focus();
    if (!canSend) {
      if (missing.length > 0) said.value = t("composer.fill_in", { names: missing.map((name) => `{{${name}}}`).join(", ") });
      return;
    }
    clearTimeout(quiet.current);
    open.live.be("viewing");
    void seeThrough(it.id, sayWritten(open.thread));
  }
  /** @param {KeyboardEvent} event */
  function key(event) {
    if (isComposing(event)) return;
    if (asked && found.length > 0 && choosing(event)) return;
    const isMod = event.ctrlKey || event.metaKey;
    if (event.key === "Enter" && !event.altKey) {
      // On glass, the key is for lines and the button for sending.
      const sends = isMod ? !enterSends || isTouch : enterSends && !event.shiftKey && !isTouch;
      if (sends) {
        event.preventDefault();
        // A shortcut that nothing goes by is no word for the contact: whoever means it so sends it at a second press.
        if (asked && found.length === 0) isShut.value = true;
        else send();
      } else if (isMod) {
        event.preventDefault();
        breakLine();
      }
    } else if (event.key === "Escape") {
      event.preventDefault();
      const change = letGo(desk);
      if (asked) isShut.value = true;
      else if (change) lay(it.id, change);
      else field.current?.blur();
    } else if (event.key === "Backspace" && desk.quoted && !desk.isNote && desk.text === "") {
      lay(it.id, { quoted: null });
    }
  }
  /** @param {KeyboardEvent} event @returns {boolean} whether the key was for the canned replies */
  function choosing(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) chosen.value = (chosen.peek() + by + found.length) % found.length;
    else if (event.key === "Enter" || event.key === "Tab") choose(found[chosen.peek()]);
    else return false;
    event.preventDefault();
    return true;
  }
  function breakLine() {
    const shown = field.current;
    if (!shown) return;
    shown.setRangeText("\n", shown.selectionStart, shown.selectionEnd, "end");
    lay(it.id, { text: shown.value });
  }
  /** @param {FileList | undefined} files @param {Event} [event] */
  async function take(files, event) {
    if (!files || files.length === 0) return;
    event?.preventDefault();
    const taken = firstOf(files, desk.isNote);
    field.current?.focus();
    const isTaken = taken.file && (await isReadable(taken.file));
    said.value = taken.file && !isTaken ? t("composer.file_unreadable", { name: taken.file.name }) : taken.problem;
    if (isTaken) lay(it.id, { file: taken.file });
  }
  useLayoutEffect(() => {
    takes.current = take;
    return () => void (takes.current = null);
  });
  const moved = () => (caret.value = field.current?.selectionStart ?? 0);
  const label = desk.isNote ? t("composer.note_label") : t("composer.label");

  return html`<form class="composer ${desk.isNote ? "is-note" : ""}" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), send())}
      onDragOver=${(/** @type {DragEvent} */ event) => event.preventDefault()} onDrop=${(/** @type {DragEvent} */ event) => take(event.dataTransfer?.files, event)}>
    ${asked && html`<${Canned} found=${found} at=${chosen.value} preview=${(/** @type {Wire.CannedReply} */ one) => fill(one.text, values)} onChoose=${choose} />`}
    <div id="composer-told" role="status"><${Told} it=${it} /></div>
    ${desk.quoted && !desk.isNote && html`<div class="composer-quote"><${Icon} name="reply" /><p><b>${authorName(desk.quoted)}</b> <span dir="auto">${summary(desk.quoted).text || t("bubble.quoted_gone")}</span></p>
      <button type="button" class="bare" aria-label=${t("composer.drop_quote")} onClick=${() => lay(it.id, { quoted: null })}><${Icon} name="close" /></button></div>`}
    ${file && html`<${Attached} file=${file} onDrop=${() => (lay(it.id, { file: null }), field.current?.focus())} />`}
    ${desk.lost !== null && !desk.isNote && html`<p class="composer-told"><${Icon} name="alert" /><span>${t("composer.file_lost", { name: desk.lost })}</span>
      <button type="button" class="bare" aria-label=${t("close")} onClick=${() => (lay(it.id, { lost: null }), field.current?.focus())}><${Icon} name="close" /></button></p>`}
    <textarea ref=${field} rows="1" dir="auto" value=${desk.text} aria-label=${label} placeholder=${label} aria-describedby="composer-told composer-said"
      aria-autocomplete="list" aria-controls=${asked && found.length ? "canned" : undefined} aria-activedescendant=${asked && found.length ? optionId(chosen.value) : undefined}
      onInput=${type} onKeyDown=${key} onKeyUp=${moved} onClick=${moved} onPaste=${(/** @type {ClipboardEvent} */ event) => take(pastedFiles(event.clipboardData), event)}></textarea>
    <p id="composer-said" class="composer-said" role="status">${said.value || lengthWords(desk.text.length, over, max)
      || (missing.length > 0 ? t("composer.fill_in", { names: missing.map((name) => `{{${name}}}`).join(", ") }) : "")}</p>
    <div class="composer-tools">
      <button type="button" class="bare ${desk.isNote ? "is-on" : ""}" aria-pressed=${desk.isNote} aria-keyshortcuts="n" title=${t("composer.note_hint")} onClick=${() => (lay(it.id, { isNote: !desk.isNote }), field.current?.focus())}>
        <${Icon} name="note" /><span>${t("composer.note")}</span></button>
      ${!desk.isNote && html`<${Attach} onFiles=${take} />`}
      ${tools}
      ${!isTouch && html`<button type="button" class="bare enter-choice" aria-pressed=${enterSends} title=${t("composer.enter_hint", { mod: MOD })} onClick=${() => (prefer({ enterSends: !enterSends }).catch(sayProblem), field.current?.focus())}>
        ${enterSends ? t("composer.enter_sends") : t("composer.mod_enter_sends", { mod: MOD })}</button>`}
      <button class="is-primary" aria-disabled=${!canSend} title=${missing.length > 0 ? t("composer.held") : undefined}>
        <${Icon} name=${desk.isNote ? "note" : "send"} />${desk.isNote ? t("composer.keep_note") : t("composer.send")}</button>
    </div>
  </form>`;
}

/** @param {number} length @param {number} over @param {number} max */
function lengthWords(length, over, max) {
  if (over > 0) return t("composer.too_long", { max: number(max), count: over });
  return length > MESSAGE_MAX ? t("composer.in_parts", { count: Math.ceil(length / MESSAGE_MAX) }) : "";
}

/** What sending will do beside sending, and whether it will do that. @param {{it: Wire.Conversation}} props */
export function Told({ it }) {
  const desk = deskOf(it.id).value;
  if (desk.isNote) return html`<p class="composer-told is-note"><${Icon} name="note" />${t("composer.note_told")}</p>`;
  const state = channels.items.value.find((one) => one.name === it.channel && !isLinked(one))?.state;
  return html`
    ${state && html`<p class="composer-told is-bad"><${Icon} name="alert" /><span><b>${stateName(state)}.</b> ${stateMeans(state)}</span></p>`}
    ${draftOf(desk) && html`<p class="composer-told"><${Icon} name="pen" />${t("composer.from_draft")}</p>`}
    ${(desk.text.trim() !== "" || desk.file !== null) && html`<${Takes} it=${it} />`}`;
}

/** Whom sending takes the conversation from, or beside whom one writes. @param {{it: Wire.Conversation}} props */
export function Takes({ it }) {
  const held = heldBy(it);
  if (it.mode === "AI") return html`<p class="composer-told is-human"><${Icon} name="hand" />${t("composer.takes_over")}</p>`;
  if (held.who === "agent") return html`<p class="composer-told is-human"><${Icon} name="people" />${t("composer.others", { name: holderName(held) })}</p>`;
  return null;
}
