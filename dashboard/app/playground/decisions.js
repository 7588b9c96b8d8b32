// What Baton did in this conversation, the newest on top: one line each, in the words of the inbox's timeline.

import { html, useEffect, useMemo } from "../vendor/preact.js";
import { exact, moment, number, t } from "../words/index.js";
import { Icon } from "../parts/icon.js";
import { problemText } from "../parts/toast.js";
import { told } from "../inbox/decisions.js";
import { openStory } from "../inbox/story.js";
import { codeOf, tell } from "../inbox/telling.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Contact } from "./contacts.js" */

/** What the phone and the thread show anyway, and what is told by the event beside it. */
const LEFT_OUT = new Set(["delivery_updated", "message_queued", "agent_took_over"]);
const TRIFLES = new Set(["read", "renamed"]);

/** More than the inbox's timeline tells by itself: here each step is worth seeing once. @param {Wire.Event} it */
const isTold = (it) => !LEFT_OUT.has(it.type) && !(it.type === "conversation_updated" && TRIFLES.has(it.action ?? ""));

/** @type {Record<string, import("../parts/icon.js").IconName>} */
const SIGNS = { good: "check", bad: "alert", warn: "question", ai: "spark", human: "hand", plain: "clock" };

/** @param {{contact: Contact}} props */
export function Decisions({ contact }) {
  const id = contact.conversation;
  const story = useMemo(() => id && openStory(id, {}, isTold), [id]);
  useEffect(() => () => story && story.close(), [story]);
  const events = story ? story.events.value : [];
  return html`<section class="decisions" aria-labelledby="play-decisions-title">
    <header><h2 id="play-decisions-title">${t("play.decisions")}</h2></header>
    ${story && story.problem.value && html`<p class="problem">${problemText(story.problem.value)}
      <button class="link" onClick=${() => void story.again()}>${t("retry")}</button></p>`}
    ${events.length === 0 && html`<p class="hint">${t("play.decisions_none")}</p>`}
    <div class="decisions-log" role="log" aria-labelledby="play-decisions-title" tabindex=${events.length > 0 ? 0 : undefined}>
      <ol role="list">${lines(events).map((line) => html`<${Line} key=${line.key} line=${line} />`)}</ol>
    </div>
  </section>`;
}

/** @typedef {{key: string, text: string, it: Wire.Event, count: number}} Told `it` is the newest of them, `key` the id of the oldest */

/** The same thing several times in a row is one line. @param {Wire.Event[]} events the newest first */
function lines(events) {
  /** @type {Told[]} */
  const all = [];
  for (const it of events) {
    const text = tell(it);
    const before = all.at(-1);
    if (before?.text === text) Object.assign(before, { key: it.id, count: before.count + 1 });
    else all.push({ key: it.id, text, it, count: 1 });
  }
  return all;
}

/** @param {{line: Told}} props */
function Line({ line: { text, it, count } }) {
  const { tone } = told(it);
  return html`<li class="is-${tone}" data-type=${it.type} title=${codeOf(it)}>
    <${Icon} name=${SIGNS[tone]} />
    <p>${text}${count > 1 && html` <span class="badge">${number(count)}×</span>`}</p>
    <time datetime=${it.at} title=${moment(it.at)}>${exact(it.at)}</time>
  </li>`;
}
