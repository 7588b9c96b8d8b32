// What is known beside the thread: who the contact is, how the conversation stands, what is planned, and what happened.

import { html } from "../vendor/preact.js";
import { mayAct } from "../state/session.js";
import { t, word } from "../words/index.js";
import { Assignee } from "./assignee.js";
import { Attention } from "./attention.js";
import { ContactCard } from "./contact_card.js";
import { FollowUp } from "./follow_up.js";
import { Labels } from "./labels.js";
import { Notes } from "./notes.js";
import { Status } from "./status.js";

/** @import * as Wire from "../../types/wire.js" */

/** @param {{it: Wire.Conversation, thread: import("../state/thread.js").Thread}} props */
export function Context({ it, thread }) {
  return html`
    <${ContactCard} it=${it} />
    <${Attention} it=${it} />
    <dl class="standing">
      <div><dt>${t("context.status")}</dt><dd>${mayAct() ? html`<${Status} it=${it} />` : word("status", it.status)}</dd></div>
      <div><dt>${t("context.assignee")}</dt><dd><${Assignee} it=${it} /></dd></div>
      <div><dt>${t("context.labels")}</dt><dd><${Labels} it=${it} /></dd></div>
    </dl>
    <${Part} title=${t("context.follow_up")}><${FollowUp} it=${it} /></${Part}>
    <${Part} title=${t("context.notes")}><${Notes} thread=${thread} /></${Part}>`;
}

/** @param {{title: string, children?: any}} props */
function Part({ title, children }) {
  return html`<section class="context-part"><h3>${title}</h3>${children}</section>`;
}
