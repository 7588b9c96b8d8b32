// What is known beside the thread: who the contact is, how the conversation stands, what is planned, and what happened.

import { html, useEffect, useRef } from "../vendor/preact.js";
import { isAdmin, mayAct } from "../state/session.js";
import { t, word } from "../words/index.js";
import { Assignee } from "./assignee.js";
import { Attention } from "./attention.js";
import { ContactCard } from "./contact_card.js";
import { Erase } from "./erase.js";
import { FollowUp } from "./follow_up.js";
import { Labels } from "./labels.js";
import { Lanes } from "./lanes.js";
import { Notes } from "./notes.js";
import { Status } from "./status.js";
import { Timeline } from "./timeline.js";

/** @import * as Wire from "../../types/wire.js" */

/** @import { Opened } from "./opened.js" */

/** @param {{it: Wire.Conversation, open: Opened, about: Wire.Message | null, onAll: () => void}} props `about` is the message whose "why" was asked */
export function Context({ it, open, about, onAll }) {
  const { thread, decisions } = open;
  const happened = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!about) return;
    happened.current?.scrollIntoView({ block: "start" });
    happened.current?.focus({ preventScroll: true });
  }, [about]);
  return html`
    <${ContactCard} it=${it} />
    <${Attention} it=${it} />
    <dl class="standing">
      <div><dt>${t("context.status")}</dt><dd>${mayAct() ? html`<${Status} it=${it} />` : word("status", it.status)}</dd></div>
      <div><dt>${t("context.assignee")}</dt><dd><${Assignee} it=${it} /></dd></div>
      <div><dt>${t("context.labels")}</dt><dd><${Labels} it=${it} /></dd></div>
    </dl>
    <${Part} title=${t("context.follow_up")}><${FollowUp} it=${it} /></${Part}>
    <${Part} title=${t("context.notes")}><${Notes} thread=${thread} isMerged=${it.merged_into !== null} /></${Part}>
    <section class="context-part" ref=${happened} tabindex="-1" aria-labelledby="happened-title">
      <h3 id="happened-title">${t("timeline")}</h3>
      ${!about && html`<${Lanes} id=${it.id} thread=${thread} events=${decisions.events.value} />`}
      <${Timeline} id=${it.id} thread=${thread} decisions=${decisions} about=${about} onAll=${onAll} />
    </section>
    ${isAdmin() && html`<${Erase} it=${it} />`}`;
}

/** @param {{title: string, children?: any}} props */
function Part({ title, children }) {
  return html`<section class="context-part"><h3>${title}</h3>${children}</section>`;
}
