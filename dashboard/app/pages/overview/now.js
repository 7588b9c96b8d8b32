// How it stands now: who answers, what waits and how long, who is needed, and how the channels are.

import { html } from "../../vendor/preact.js";
import { inboxAt } from "../../state/filter.js";
import { number, span, t, word } from "../../words/index.js";
import { StateTag } from "../channels/state.js";

/** @import * as Wire from "../../../types/wire.js" */

const sum = (/** @type {Wire.Numbers} */ counts) => Object.values(counts).reduce((all, value) => all + value, 0);
/** What there is any of, the most first. @param {Wire.Numbers} counts @param {string} group */
const some = (counts, group) => Object.entries(counts).filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a).map(([value, count]) => `${word(group, value)} ${number(count)}`);

/** @param {{now: Wire.Stats["now"], needed: number | null, channels: Wire.Channel[], channel: string}} props */
export function Now({ now, needed, channels, channel }) {
  const shown = channels.filter(({ name }) => !channel || name === channel);
  const [ai, human] = [now.conversations.AI ?? 0, now.conversations.HUMAN ?? 0];
  const owed = sum(now.outbox);
  return html`<section class="now" aria-label=${t("overview.now")}>
    <${Tile} title=${t("overview.needed")} figure=${needed ?? sum(now.attention)} notes=${some(now.attention, "attention.short")} none=${t("overview.needed_none")} href=${inboxAt({ group: "needs_you", channel: channel || null })} link=${t("overview.to_inbox")} isBad />
    <${Tile} title=${t("overview.inbox")} figure=${now.inbox} notes=${now.inbox > 0 ? [t("overview.oldest", { time: span(now.inbox_oldest_ms) })] : []} none=${t("overview.inbox_none")} />
    <${Tile} title=${t("overview.outbox")} figure=${owed} none=${t("overview.outbox_none")}
      notes=${owed > 0 ? [t("overview.oldest", { time: span(now.outbox_oldest_ms) }), ...some(now.outbox, "lane")] : []} />
    <${Tile} title=${t("nav.dead_letters")} figure=${sum(now.dead_letters)} notes=${some(now.dead_letters, "letter_kind")} none=${t("overview.letters_none")} href="/dead-letters" link=${t("overview.to_letters")} isBad />
    <${Tile} title=${t("overview.planned")} figure=${now.follow_ups} notes=${[]} none=${t("overview.planned_none")} href="/follow-ups" link=${t("overview.to_follow_ups")} />
    <div class="card tile is-wide">
      <h2>${t("overview.who_answers")}</h2>
      ${ai + human > 0 && html`<div class="split" aria-hidden="true"><span class="is-ai" style=${{ "--share": ai }}></span><span class="is-human" style=${{ "--share": human }}></span></div>`}
      <p class="figures"><span class="tag is-ai">${word("mode", "AI")} ${number(ai)}</span><span class="tag is-human">${word("mode", "HUMAN")} ${number(human)}</span></p>
    </div>
    ${shown.length > 0 && html`<div class="card tile is-wide">
      <h2>${t("settings.channels")}</h2>
      <ul class="states">${shown.map((it) => html`<li key=${it.name}><span>${it.title || it.name}</span> <${StateTag} channel=${it} /></li>`)}</ul>
    </div>`}
  </section>`;
}

/** @param {{title: string, figure: number, notes: string[], none: string, href?: string, link?: string, isBad?: boolean}} props */
function Tile({ title, figure, notes, none, href, link, isBad }) {
  return html`<div class="card tile ${isBad && figure > 0 ? "is-bad" : ""}">
    <h2>${title}</h2>
    <p class="figure">${number(figure)}</p>
    <p class="hint">${figure === 0 ? none : notes.join(" · ")}</p>
    ${href && figure > 0 && html`<a href=${href} data-within>${link}</a>`}
  </div>`;
}
