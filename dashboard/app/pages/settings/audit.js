// What was done to the installation, by whom: sign-ins, people, tokens, numbers, and data that was taken out or removed.

import { html } from "../../vendor/preact.js";
import { actorName } from "../../inbox/names.js";
import { agentName, channelTitle } from "../../state/shelf.js";
import { lately, moment, t, word } from "../../words/index.js";
import { useHeard, useListed } from "../../parts/asked.js";
import { useEachMinute } from "../each_minute.js";
import { Listing, Table } from "../listing.js";

/** @import * as Wire from "../../../types/wire.js" */
/** @typedef {{id: string, at: string, actor: string, action: string, subject: string | null, details: Record<string, any>}} Deed */

/** What those events tell of is done by somebody, and stands here. */
const DONE = ["agent_updated", "token_updated", "channel_updated", "endpoint_updated", "conversation_erased"];
/** What somebody keeps in their dashboard is noted nowhere. @param {Wire.Event} event */
const isOfDeeds = ({ type, action }) => DONE.includes(type) && action !== "preferences";

export function Audit() {
  /** @type {import("../../parts/asked.js").Listed<Deed>} */
  const listed = useListed("/audit");
  useHeard(isOfDeeds, listed.again);
  // Who comes and goes, and what is taken out, no event tells.
  useEachMinute(() => void listed.again());
  return html`
    <header><h1>${t("settings.audit")}</h1></header>
    <p class="lead">${t("audit.lead")}</p>
    <${Listing} listed=${listed} empty=${t("audit.empty")} missing=${t("audit.missing")}>
      ${(/** @type {Deed[]} */ items) => html`<${Table} label=${t("settings.audit")} items=${items} id=${(/** @type {Deed} */ it) => it.id} columns=${columns()} isStop />`}
    </${Listing}>`;
}

/** @returns {import("../listing.js").Column<Deed>[]} */
function columns() {
  return [
    { words: t("audit.when"), cell: (it) => html`<time datetime=${it.at} title=${moment(it.at)}>${lately(it.at)}</time>` },
    { words: t("audit.who"), cell: (it) => actorName(it.actor) },
    { words: t("audit.what"), isHead: true, cell: (it) => word("deed", it.action) },
    { words: t("audit.whom"), cell: (it) => subject(it) },
    { words: t("audit.more"), cell: (it) => more(it.details) },
  ];
}

/** @param {Deed} it */
function subject(it) {
  if (!it.subject) return "";
  if (it.action.startsWith("channel_")) return channelTitle(it.subject);
  return agentName(it.subject) ?? it.details.name ?? it.subject;
}

/** What beside it is to be known, as it is. @param {Record<string, any>} details */
function more(details) {
  const { name: _, ...rest } = details;
  return Object.entries(rest)
    .filter(([, value]) => value !== null && value !== false && !(Array.isArray(value) && value.length === 0))
    .map(([key, value]) => `${key}: ${Array.isArray(value) ? value.join(", ") : String(value)}`)
    .join(" · ");
}
