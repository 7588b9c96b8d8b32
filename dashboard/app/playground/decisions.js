// What Baton decided in this conversation, the newest first: one line each.

import { html } from "../vendor/preact.js";
import { clock, moment, t, word } from "../words/index.js";
import { useDecisions } from "./decided.js";

/** @import { Contact } from "./contacts.js" */

/** @param {{contact: Contact}} props */
export function Decisions({ contact }) {
  const events = useDecisions(contact.conversation);
  return html`<section class="decisions" aria-labelledby="play-decisions-title">
    <header><h2 id="play-decisions-title">${t("play.decisions")}</h2></header>
    ${events.length === 0
      ? html`<p class="hint">${t("play.decisions_none")}</p>`
      : html`<ol role="log" aria-labelledby="play-decisions-title" tabindex="0">
        ${events.map((event) => html`<li key=${event.id}>
          <time datetime=${event.at} title=${moment(event.at)}>${clock(event.at)}</time>
          <span>${word("event", event.type)}</span>
        </li>`)}
      </ol>`}
  </section>`;
}
