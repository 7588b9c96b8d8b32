// Follow-ups: what will be written to whom and when, unless they write before; and what became of the others.

import { html, useSignal } from "../vendor/preact.js";
import { Edit } from "../inbox/follow_up.js";
import { conversation } from "../state/conversations.js";
import { route } from "../state/route.js";
import { channels } from "../state/shelf.js";
import { t, word } from "../words/index.js";
import { useAsked, useHeard, useListed } from "../parts/asked.js";
import { Icon } from "../parts/icon.js";
import { Listing } from "./listing.js";
import { Segments } from "./segments.js";
import { Planned } from "./follow_up.js";

/** @import * as Wire from "../../types/wire.js" */

const STATES = /** @type {const} */ (["pending", "sent", "cancelled", "withheld"]);

export function FollowUps() {
  const wanted = route.value.query.get("state");
  const state = STATES.find((it) => it === wanted) ?? "pending";
  /** @type {import("../parts/asked.js").Listed<Wire.FollowUp>} */
  const listed = useListed("/follow-ups", { state });
  useHeard((event) => event.type.startsWith("follow_up_") || event.type === "conversation_erased", listed.again);
  /** Whose is being edited. Here, and not in its row: one that leaves meanwhile would take the words with it. */
  const edited = useSignal("");
  const it = edited.value && conversation(edited.value).value;
  return html`<div class="sheet">
    <header>
      <h1>${t("nav.follow_ups")}</h1>
      <${Segments} label=${t("plans.state")} places=${STATES.map((it) => ({
        href: it === "pending" ? "/follow-ups" : `/follow-ups?state=${it}`, words: word("follow_up_state", it), isHere: it === state }))} />
    </header>
    <p class="lead">${t(`plans.lead_${state}`)}</p>
    ${state === "pending" && html`<${QuietHours} />`}
    <${Listing} listed=${listed} empty=${t(`plans.none_${state}`)}>
      ${(/** @type {Wire.FollowUp[]} */ items) => html`<ul class="entries">
        ${items.map((plan) => html`<${Planned} key=${plan.id} plan=${plan} again=${listed.again} onEdit=${() => (edited.value = plan.conversation_id)} />`)}
      </ul>`}
    </${Listing}>
    ${it && html`<${Edit} it=${it} onClose=${() => ((edited.value = ""), void listed.again())} />`}
  </div>`;
}

/** When none leaves, if the server says so. Whoever may not read the settings is told nothing. */
function QuietHours() {
  const { answer } = useAsked("/settings");
  const everywhere = /** @type {Wire.Setting[]} */ (answer?.items ?? []).find(({ name }) => name === "BATON_QUIET_HOURS")?.value;
  const own = channels.items.value.filter(({ settings }) => settings?.quiet_hours);
  if (!everywhere && own.length === 0) return null;
  return html`<p class="quiet-hours"><${Icon} name="pause" />
    <span>${everywhere ? t("plans.quiet", { hours: everywhere }) : t("plans.quiet_some")}
    ${own.map((it) => html` ${t("plans.quiet_on", { channel: it.title || it.name, hours: String(it.settings?.quiet_hours) })}`)}</span>
  </p>`;
}
