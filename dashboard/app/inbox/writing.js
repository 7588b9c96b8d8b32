// The AI at work: its text as it is written, and what the contact sees of that.

import { html } from "../vendor/preact.js";
import { Icon } from "../parts/icon.js";
import { now } from "../parts/now.js";
import { span, t } from "../words/index.js";

/** @import * as Wire from "../../types/wire.js" */

/** @param {{it: Wire.Conversation, live: import("../state/live.js").Live}} props */
export function Writing({ it, live }) {
  const written = live.generation.value;
  const typing = live.typing.value;
  // The stream says more, and sooner; without it the conversation itself says that much.
  if (written || it.activity === "generating") {
    return html`<div class="speech-line from-ai is-first" key="writing">
      <div class="speech is-written">
        <p class="speech-by"><${Icon} name="spark" />${it.mode === "HUMAN" ? t("writing.draft") : t("writing")}<${Since} at=${it.activity_since} /></p>
        ${written?.text && html`<p class="says" dir="auto">${written.text}</p>`}
        <span class="dots" aria-hidden="true"><i></i><i></i><i></i></span>
      </div>
    </div>`;
  }
  // Whoever takes over ends the typing too; that the stream says so later is no reason to show it until then.
  if (typing && it.mode === "AI" && Date.parse(typing.until) > now.value) {
    return html`<p class="typing"><span class="dots" aria-hidden="true"><i></i><i></i><i></i></span>${t("writing.typing", { part: typing.part })}</p>`;
  }
  return null;
}

/** @param {{at: string | null}} props */
const Since = ({ at }) => at && html`<span class="soft"> · ${span(Math.max(0, now.value - Date.parse(at)))}</span>`;
