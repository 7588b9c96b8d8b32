// Words in the thread: one message, or the parts of one reply, with who wrote them and where they are.

import { html } from "../vendor/preact.js";
import { mayAct } from "../state/session.js";
import { copied } from "../parts/copy.js";
import { Icon } from "../parts/icon.js";
import { memo } from "../parts/memo.js";
import { Menu } from "../parts/menu.js";
import { say } from "../parts/toast.js";
import { clock, moment, t, word } from "../words/index.js";
import { fate } from "./fates.js";
import { Media } from "./media.js";
import { actorName, authorName } from "./names.js";
import { toQuoted } from "./scroll.js";
import { Mends } from "./sending.js";
import { Ticks } from "./ticks.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Thread } from "../state/thread.js" */

/** @typedef {{onQuote: (it: Wire.Message) => void, onWhy: (it: Wire.Message) => void}} Acts */

/** Which side and colour. @param {Wire.Message} it */
function look(it) {
  if (it.kind === "note") return "is-note";
  if (it.author === "contact") return "from-contact";
  if (it.author === "assistant") return "from-ai";
  return it.author === "system" || it.origin === "other_system" ? "from-system" : "from-agent";
}

/** @type {Record<string, import("../parts/icon.js").IconName>} */
const SIGNS = { "from-ai": "spark", "from-agent": "person", "from-system": "bolt", "is-note": "note" };

/**
 * @typedef {{parts: Wire.Message[], isFirst: boolean, thread: Thread, acts: Acts, below?: any, seal: string}} Given
 *   `seal` changes with whatever `below` is drawn from
 */

/** Messages are objects that never change: the same ones are the same bubble. @type {import("../parts/memo.js").Same} */
const isSame = (before, after) =>
  before.isFirst === after.isFirst && before.seal === after.seal && before.acts === after.acts
  && before.parts.length === after.parts.length && before.parts.every((/** @type {Wire.Message} */ it, /** @type {number} */ at) => it === after.parts[at]);

export const Bubble = memo(function Bubble(/** @type {Given} */ { parts, isFirst, thread, acts, below }) {
  const head = parts[0];
  const last = /** @type {Wire.Message} */ (parts.at(-1));
  const side = look(head);
  const all = fate(parts);
  const name = authorName(head);
  const isPhone = head.origin === "phone";
  const isNamed = side === "is-note" || (isFirst && (side !== "from-contact" || head.sender !== null));
  return html`<div class="speech-line ${side} ${isFirst ? "is-first" : ""}">
    <div class="speech">
      ${isNamed && side !== "from-contact" && html`<p class="speech-by"><${Icon} name=${isPhone ? "phone" : SIGNS[side]} />${side === "is-note" ? t("bubble.note_by", { name }) : name}${head.origin === "follow_up" && html` · ${t("bubble.follow_up")}`}</p>`}
      ${isNamed && side === "from-contact" && html`<p class="speech-by">${name}</p>`}
      ${parts.map((it) => html`<${Part} key=${it.id} it=${it} thread=${thread} isAlone=${!all?.isMixed} name=${isNamed ? "" : name} />`)}
      <p class="speech-foot">
        ${parts.length > 1 && html`<span title=${t("bubble.parts_title")}>${all?.isMixed ? t("bubble.parts_gone", { count: all.gone, of: all.of }) : t("bubble.parts", { count: parts.length })}</span>`}
        ${parts.length === 1 && (head.delivery?.parts ?? 1) > 1 && html`<span>${t("bubble.part", { part: head.delivery?.part ?? 1, of: head.delivery?.parts ?? 1 })}</span>`}
        ${head.edited_at && html`<span title=${moment(head.edited_at)}>${t("bubble.edited")}</span>`}
        <time datetime=${last.at} title=${moment(last.at)}>${clock(last.at)}</time>
        ${last.delivery && all && !all.isMixed && html`<${Ticks} of=${last.delivery} />`}
      </p>
      ${parts.flatMap((it) => it.reactions).length > 0 && html`<p class="reactions">${parts.flatMap((it) => it.reactions).map((one) =>
        html`<span title=${actorName(one.author)}>${one.emoji}</span>`)}</p>`}
    </div>
    <${More} it=${last} parts=${parts} acts=${acts} />
    ${below && html`<div class="speech-below">${below}</div>`}
  </div>`;
}, isSame);

/** @param {{it: Wire.Message, thread: Thread, isAlone: boolean, name: string}} props `isAlone`: the foot of the bubble says where it is; `name` is for who cannot see whose it is */
function Part({ it, thread, isAlone, name }) {
  const isGone = it.delivery?.state === "cancelled";
  // What a file is, it shows itself.
  const words = it.media ? (it.media.caption ?? "") : it.text;
  return html`<div class="part ${isGone ? "is-cancelled" : ""}" id="message-${it.seq}" tabindex="-1">
    ${name && html`<span class="unseen">${name}: </span>`}
    ${it.quoted && html`<${Quote} of=${it.quoted} thread=${thread} />`}
    ${it.deleted_at ? html`<p class="soft"><em>${t("bubble.deleted", { at: clock(it.deleted_at) })}</em></p>` : html`<${Media} it=${it} />`}
    ${!it.deleted_at && words && (isGone ? html`<p class="says" dir="auto"><del>${words}</del></p>` : html`<p class="says" dir="auto">${words}</p>`)}
    ${!isAlone && it.delivery && html`<p class="part-foot"><${Ticks} of=${it.delivery} /></p>`}
    <${Mends} it=${it} thread=${thread} />
  </div>`;
}

/** @param {{of: NonNullable<Wire.Message["quoted"]>, thread: Thread}} props */
function Quote({ of, thread }) {
  const by = of.author ? actorName(of.author) : "";
  const inside = html`${by && html`<b>${by}</b>`}<span dir="auto">${of.text || t("bubble.quoted_gone")}</span>`;
  return of.message_id
    ? html`<button type="button" class="quote" onClick=${() => void toQuoted(thread, of.message_id)}>${inside}</button>`
    : html`<div class="quote">${inside}</div>`;
}

/** @param {{it: Wire.Message, parts: Wire.Message[], acts: Acts}} props */
function More({ it, parts, acts }) {
  const text = parts.map((one) => one.text).join("\n\n");
  const copy = async () => say((await copied(text)) ? t("copied") : t("bubble.cannot_copy"));
  const canQuote = mayAct() && it.kind !== "note" && it.provider_message_id !== null && !it.deleted_at;
  return html`<div class="speech-more"><${Menu} icon="more" label=${t("bubble.more")} items=${[
    canQuote && { icon: "reply", words: t("bubble.quote"), run: () => acts.onQuote(it) },
    { icon: "question", words: t("bubble.why"), hint: t("bubble.why_hint"), run: () => acts.onWhy(it) },
    text && { icon: "file", words: t("copy"), run: copy },
  ]} /></div>`;
}

/** What happened, rather than was said: a reaction, a call, a vote. */
export const Aside = memo(function Aside(/** @type {{it: Wire.Message}} */ { it }) {
  return html`<p class="aside" id="message-${it.seq}" tabindex="-1">
    ${t("aside", { name: authorName(it), what: word("aside", it.kind) })} <bdi>${it.text}</bdi> <time datetime=${it.at} title=${moment(it.at)}>${clock(it.at)}</time>
  </p>`;
});
