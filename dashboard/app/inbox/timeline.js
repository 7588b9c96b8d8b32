// The timeline: one line a decision, plain words first and the code second, the newest on top. It answers why.

import { html, useEffect, useMemo, useSignal } from "../vendor/preact.js";
import { Icon } from "../parts/icon.js";
import { problemText } from "../parts/toast.js";
import { exact, moment, t } from "../words/index.js";
import { DECISIONS, isDecision, told } from "./decisions.js";
import { toMessage } from "./scroll.js";
import { openStory } from "./story.js";
import { summary } from "./summary.js";
import { codeOf, tell } from "./telling.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Thread } from "../state/thread.js" */

/** The decisions of a conversation. @param {string} id */
export const openDecisions = (id) => openStory(id, { type: DECISIONS.join(",") }, isDecision);

/** @type {Record<string, import("../parts/icon.js").IconName>} */
const SIGNS = { good: "check", bad: "alert", warn: "question", ai: "spark", human: "hand", plain: "clock" };

/**
 * @param {{id: string, thread: Thread, decisions: import("./story.js").Story, about: Wire.Message | null, onAll: () => void}} props
 *   `about` is the one message that is asked about
 */
export function Timeline({ id, thread, decisions, about, onAll }) {
  const isWhole = useSignal(false);
  const other = useMemo(() => {
    if (about) return openStory(id, { message_id: about.id }, (it) => it.message_id === about.id);
    return isWhole.value ? openStory(id, {}, () => true) : null;
  }, [id, about?.id, isWhole.value]);
  useEffect(() => () => other?.close(), [other]);
  const story = other ?? decisions;

  return html`<div class="timeline">
    ${about ? html`<div class="timeline-about"><p><b>${t("timeline.about")}</b> “<bdi>${summary(about).text}</bdi>”</p>
        <button type="button" onClick=${onAll}>${t("timeline.all_messages")}</button></div>`
    : html`<label class="is-check"><input type="checkbox" checked=${isWhole.value} onChange=${() => (isWhole.value = !isWhole.peek())} /><span>${t("timeline.whole")}</span></label>`}
    <ol role="list">
      ${story.events.value.map((it) => html`<${Line} key=${it.id} it=${it} thread=${thread} isAbout=${about !== null} />`)}
    </ol>
    ${story.problem.value ? html`<p class="problem">${problemText(story.problem.value)} <button type="button" onClick=${() => void story.again()}>${t("retry")}</button></p>`
    : !story.isLoaded.value ? html`<p class="soft">${t("loading")}</p>`
    : story.events.value.length === 0 ? html`<p class="soft">${t("timeline.none")}</p>`
    : story.hasMore.value && html`<button type="button" onClick=${() => void story.more()}>${t("timeline.older")}</button>`}
  </div>`;
}

/** @param {{it: Wire.Event, thread: Thread, isAbout: boolean}} props */
function Line({ it, thread, isAbout }) {
  const { tone } = told(it);
  const seq = isAbout ? undefined : thread.ordered.value.find((one) => one.id === it.message_id)?.seq;
  return html`<li class="is-${tone}">
    <${Icon} name=${SIGNS[tone]} />
    <div>
      <p>${tell(it)}</p>
      <p class="timeline-code"><time datetime=${it.at} title=${moment(it.at)}>${exact(it.at)}</time> <code>${codeOf(it)}</code>
        ${seq !== undefined && html` <button type="button" class="link" onClick=${() => void toMessage(thread, seq)}>${t("timeline.message")}</button>`}</p>
      ${Object.keys(it.details ?? {}).length > 0 && html`<details><summary>${t("timeline.details")}</summary>
        <dl>${Object.entries(it.details).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${typeof value === "object" ? JSON.stringify(value) : String(value)}</dd></div>`)}</dl></details>`}
    </div>
  </li>`;
}
