// The sign of who answers: an icon, a colour, and always the words.

import { html } from "../vendor/preact.js";
import { me } from "../state/session.js";
import { Icon } from "../parts/icon.js";
import { t } from "../words/index.js";
import { holder } from "./holder.js";
import { holderName } from "./names.js";

/** @import * as Wire from "../../types/wire.js" */

/** @param {Wire.Conversation} it @returns {{look: "ai" | "draft" | "human" | "nobody", icon: import("../parts/icon.js").IconName, words: string}} */
export function modeSign(it) {
  const held = holder(it, me.value?.id ?? null);
  const name = holderName(held);
  if (held.who === "ai") return { look: "ai", icon: "spark", words: name };
  if (held.isDrafting) return { look: "draft", icon: "pen", words: t("mode.drafts_for", { name }) };
  if (held.who === "nobody") return { look: "nobody", icon: "hand", words: name };
  return { look: "human", icon: held.who === "phone" ? "phone" : "person", words: name };
}

/** @param {{of: Wire.Conversation}} props */
export function ModeSign({ of }) {
  const { look, icon, words } = modeSign(of);
  return html`<span class="mode-sign is-${look}" title=${words}><${Icon} name=${icon} label=${words} /></span>`;
}
