// Whether the conversation is open, put off, or closed: said, and changed, in one place.

import { html, useSignal } from "../vendor/preact.js";
import { serverNow } from "../wire/server_time.js";
import { Dialog } from "../parts/dialog.js";
import { Menu } from "../parts/menu.js";
import { minute } from "../parts/now.js";
import { clock, appointment, t, word } from "../words/index.js";
import { close, open, snooze } from "./acts.js";
import { later } from "./later.js";
import { asField, dayAt, inMinutes, mondayAt } from "./times.js";

/** @import * as Wire from "../../types/wire.js" */

const MORNING = 9;
const EVENING = 18;

/** @param {{it: Wire.Conversation}} props */
export function Status({ it }) {
  const isAsking = useSignal(false);
  // Once a minute: what is past is not offered.
  const now = Math.max(minute.value, serverNow());
  /** @param {import("../words/index.js").Key} key @param {(now: number) => Date} at */
  const until = (key, at) => later("moon", key, at, (until) => void snooze(it, until));
  return html`
    <${Menu} class="status-button" icon=${it.status === "open" ? "inbox" : it.status === "snoozed" ? "moon" : "check"} label=${t("status.change", { status: word("status", it.status) })}
      words=${html`<span>${it.status === "snoozed" && it.snoozed_until ? t("status.snoozed_until", { at: sameDay(it.snoozed_until) ? clock(it.snoozed_until) : appointment(it.snoozed_until) }) : word("status", it.status)}</span>`}
      items=${[
        it.status !== "open" && { icon: "inbox", words: t("status.open"), run: () => void open(it) },
        it.status !== "closed" && { icon: "check", words: t("status.close"), key: "e", hint: t("status.close_hint"), run: () => void close(it) },
        "line",
        { title: t("status.snooze") },
        until("time.in_an_hour", (now) => inMinutes(now, 60)),
        new Date(now).getHours() < EVENING - 1 && until("time.this_evening", (now) => dayAt(now, 0, EVENING)),
        until("time.tomorrow", (now) => dayAt(now, 1, MORNING)),
        until("time.monday", (now) => mondayAt(now, MORNING)),
        { icon: "clock", words: t("time.choose"), run: () => (isAsking.value = true) },
      ]} />
    ${isAsking.value && html`<${WhenDialog} title=${t("status.snooze")} verb=${t("status.snooze_verb")} first=${dayAt(now, 1, MORNING)}
      onChoose=${(/** @type {Date} */ at) => void snooze(it, at)} onClose=${() => (isAsking.value = false)} />`}`;
}

/** @param {string} at */
const sameDay = (at) => new Date(at).toDateString() === new Date(serverNow()).toDateString();

/** Asks for a day and a time to come. @param {{title: string, verb: string, first: Date, onChoose: (at: Date) => void, onClose: () => void}} props */
export function WhenDialog({ title, verb, first, onChoose, onClose }) {
  /** @param {SubmitEvent} event */
  function submit(event) {
    event.preventDefault();
    const given = new FormData(/** @type {HTMLFormElement} */ (event.target)).get("at");
    onClose();
    onChoose(new Date(String(given)));
  }
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form class="form" onSubmit=${submit}>
      <label>${t("time.at")}<input name="at" type="datetime-local" required autofocus defaultValue=${asField(first)} min=${asField(new Date(serverNow()))} /></label>
      <footer><button type="button" onClick=${onClose}>${t("cancel")}</button><button class="is-primary">${verb}</button></footer>
    </form>
  </${Dialog}>`;
}
