// The other ways to change who answers: with an answer at once, with a note for the AI, by the clock; and the AI's suggestions.

import { html, useSignal } from "../vendor/preact.js";
import { Dialog } from "../parts/dialog.js";
import { Field, Form, Send, Tick } from "../parts/form.js";
import { Menu } from "../parts/menu.js";
import { t } from "../words/index.js";
import { canAct, heldBy } from "./holding.js";
import { later } from "./later.js";
import { backAt, giveBack, outcomes, setDrafting } from "./modes.js";
import { holderName } from "./names.js";
import { dayAt, inMinutes } from "./times.js";

/** @import * as Wire from "../../types/wire.js" */

const NOTE_MAX = 20_000;

/** @param {{it: Wire.Conversation, isOthers: boolean, onGive: () => void}} props */
export function ModeMenu({ it, isOthers, onGive }) {
  const isNoting = useSignal(false);
  const isAi = it.mode === "AI";
  /** @param {import("../words/index.js").Key} key @param {(now: number) => Date} at */
  const back = (key, at) => later("clock", key, at, (until) => void backAt(it, until));
  const answer = { icon: /** @type {const} */ ("spark"), words: isAi ? t("mode.answer_now") : t("mode.give_answer"), hint: t("mode.answer_hint"), run: () => void giveBack(it, { answer_now: true }) };
  return html`
    <${Menu} icon="down" class="bare" label=${t("mode.more")} items=${[
      isOthers ? { icon: "spark", words: t("mode.give"), run: onGive } : answer,
      !isOthers && { icon: "note", words: isAi ? t("mode.note_ai") : t("mode.give_note"), hint: t("mode.note_hint"), run: () => (isNoting.value = true) },
      "line",
      { title: isAi ? t("mode.take_until") : t("mode.give_in") },
      back("mode.in_half_hour", (now) => inMinutes(now, 30)),
      back("mode.in_hour", (now) => inMinutes(now, 60)),
      back("mode.tomorrow", (now) => dayAt(now, 1, 9)),
      "line",
      { words: t("mode.drafting"), hint: t("mode.drafting_hint"), isChecked: it.drafting, run: () => void setDrafting(it, !it.drafting) },
    ]} />
    ${isNoting.value && html`<${NoteDialog} it=${it} onClose=${() => (isNoting.value = false)} />`}`;
}

/** @param {{it: Wire.Conversation, onClose: () => void}} props */
export function NoteDialog({ it, onClose }) {
  /** Closes once it has worked: what was typed is not lost to a refusal. @param {FormData} given */
  async function send(given) {
    const receipt = await giveBack(it, { note: String(given.get("note")).trim(), ...(given.get("answer") && { answer_now: true }) });
    const problem = !receipt && outcomes.peek().get(it.id)?.problem;
    // With neither, the answer was lost, and the feed has told that it was done.
    if (problem) throw problem;
    onClose();
  }
  return html`<${Dialog} title=${it.mode === "AI" ? t("mode.note_ai") : t("mode.give_note")} onClose=${onClose}>
    <${Form} onSend=${send} words=${refusal}>
      <${Field} name="note" lines=${4} label=${t("mode.note")} hint=${t("mode.note_hint")} required autofocus maxlength=${NOTE_MAX} placeholder=${t("mode.note_placeholder")} />
      <${Tick} name="answer" label=${t("mode.and_answer")} defaultChecked />
      <footer><button type="button" onClick=${onClose}>${t("cancel")}</button><${Send} disabled=${!canAct(it)}>${t("mode.give")}</${Send}></footer>
    </${Form}>
  </${Dialog}>`;
}

/** As under the pill, which the dialog covers. @param {import("../wire/api.js").Problem} problem */
function refusal(problem) {
  if (problem.code === "no_model") return t("mode.no_model");
  return problem.code === "version_conflict" && problem.current?.id ? t("mode.conflict", { who: holderName(heldBy(problem.current)) }) : null;
}
