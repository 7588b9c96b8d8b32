// Channels: the numbers of the business, how each is, and the way to one of them or to a new one.

import { html } from "../../vendor/preact.js";
import { route } from "../../state/route.js";
import { isAdmin, isAdminOfAll } from "../../state/session.js";
import { t } from "../../words/index.js";
import { useHeard, useListed } from "../../parts/asked.js";
import { Icon } from "../../parts/icon.js";
import { Listing } from "../listing.js";
import { BrakeTag } from "./brake.js";
import { OneChannel } from "./channel.js";
import { Connect } from "./connect.js";
import { About, StateTag, StateWords, isOfChannels } from "./state.js";

/** @import * as Wire from "../../../types/wire.js" */

export function Channels() {
  const { id, sub } = route.value;
  // A new number is none of the channels that an admin of some is for.
  if (id === "connect" && (sub ? isAdmin() : isAdminOfAll())) return html`<${Connect} name=${sub} />`;
  if (isAdmin() && sub) return html`<${OneChannel} key=${sub} name=${sub} />`;
  return html`<${Every} />`;
}

function Every() {
  /** @type {import("../../parts/asked.js").Listed<Wire.Channel>} */
  const listed = useListed("/channels");
  useHeard(isOfChannels, listed.again);
  const connect = isAdminOfAll() && html`<a class="button is-primary" href="/settings/connect" data-within><${Icon} name="plus" /> ${t("channels.connect")}</a>`;
  return html`
    <header><h1>${t("settings.channels")}</h1>${connect}</header>
    <p class="lead">${t("channels.lead")}</p>
    <${Listing} listed=${listed} empty=${html`<p>${t("channels.empty")}</p>${connect}`}>
      ${(/** @type {Wire.Channel[]} */ items) => html`<ul class="channels">
        ${items.map((channel) => html`<${Row} key=${channel.name} channel=${channel} />`)}
      </ul>`}
    </${Listing}>`;
}

/** @param {{channel: Wire.Channel}} props */
function Row({ channel }) {
  const changes = Object.keys(channel.settings ?? {}).length;
  return html`<li class="card channel">
    <${Icon} name="phone" />
    <div>
      <h2>${channel.title || channel.name} <${StateTag} channel=${channel} /> <${BrakeTag} channel=${channel} /></h2>
      <p class="hint"><${About} channel=${channel} />${changes > 0 && html` · ${t("channels.changes", { count: changes })}`}</p>
      <${StateWords} channel=${channel} />
    </div>
    ${isAdmin() && html`<a class="button" href="/settings/channels/${channel.name}" data-within aria-label=${t("channels.open.which", { name: channel.title || channel.name })}>${t("channels.open")}</a>`}
  </li>`;
}
