// Dead letters: what the machine gave up, for a person to decide: try it again, or put it away.

import { html } from "../vendor/preact.js";
import { go, route } from "../state/route.js";
import { isAdmin } from "../state/session.js";
import { t, word } from "../words/index.js";
import { useHeard, useListed } from "../parts/asked.js";
import { Listing } from "./listing.js";
import { Segments } from "./segments.js";
import { Letter } from "./dead_letter.js";

/** @import * as Wire from "../../types/wire.js" */

const STATES = /** @type {const} */ (["open", "replayed", "discarded"]);
const KINDS = ["turn", "send", "webhook", "delivery"];
/** What makes a letter, or ends one. */
const HEARD = ["endpoint_updated", "webhook_dead_lettered", "turn_failed", "message_failed", "dead_letter_replayed", "dead_letter_discarded", "conversation_erased"];

export function DeadLetters() {
  const { query } = route.value;
  const state = STATES.find((it) => it === query.get("state")) ?? "open";
  const kind = KINDS.find((it) => it === query.get("kind")) ?? "";
  const conversation = query.get("conversation_id") ?? "";
  /** @type {import("../parts/asked.js").Listed<Wire.DeadLetter>} */
  const listed = useListed("/dead-letters", { state, kind, conversation_id: conversation });
  useHeard((event) => HEARD.includes(event.type), listed.again);

  /** @param {Record<string, string>} change */
  const place = (change) => {
    const wanted = Object.entries({ state, kind, conversation_id: conversation, ...change }).filter(([name, value]) => value && !(name === "state" && value === "open"));
    return `/dead-letters${wanted.length > 0 ? `?${new URLSearchParams(wanted)}` : ""}`;
  };
  return html`<div class="sheet">
    <header>
      <h1>${t("nav.dead_letters")}</h1>
      <${Segments} label=${t("letters.state")} places=${STATES.map((it) => ({ href: place({ state: it }), words: word("letter_state", it), isHere: it === state }))} />
    </header>
    <p class="lead">${t(`letters.lead_${state}`)}</p>
    <div class="filters">
      <label>${t("letters.kind")}
        <select onChange=${(/** @type {any} */ event) => go(place({ kind: event.target.value }), { replace: true })}>
          <option value="" selected=${kind === ""}>${t("letters.every_kind")}</option>
          ${KINDS.map((it) => html`<option key=${it} value=${it} selected=${kind === it}>${word("letter_kind", it)}</option>`)}
        </select>
      </label>
      ${conversation && html`<p class="of-one">${t("letters.of_one")} <a href=${place({ conversation_id: "" })} data-within>${t("letters.of_all")}</a></p>`}
      ${!isAdmin() && html`<p class="hint">${t("letters.for_admins")}</p>`}
    </div>
    <${Listing} listed=${listed} empty=${t(kind || conversation ? "letters.none_so" : `letters.none_${state}`)}>
      ${(/** @type {Wire.DeadLetter[]} */ items) => html`<ul class="entries">
        ${items.map((letter) => html`<${Letter} key=${letter.id} letter=${letter} again=${listed.again} />`)}
      </ul>`}
    </${Listing}>
  </div>`;
}
