// Settings: the list of sections, and the one that is open. What a role may not do is not in the list.

import { html } from "../../vendor/preact.js";
import { route } from "../../state/route.js";
import { isAdmin, isAdminOfAll } from "../../state/session.js";
import { t } from "../../words/index.js";
import { Icon } from "../../parts/icon.js";
import { Channels } from "../channels/channels.js";
import { AllSettings } from "./all_settings.js";
import { Audit } from "./audit.js";
import { CannedReplies } from "./canned_replies.js";
import { Labels } from "./labels.js";
import { People } from "./people.js";
import { Tokens } from "./tokens.js";
import { Webhooks } from "./webhooks.js";
import { You } from "./you.js";

/**
 * @typedef {{id: string, words: import("../../words/index.js").Key, icon: import("../../parts/icon.js").IconName,
 *   Page: () => any, mayOpen?: () => boolean}} Section
 */

/** @type {Section[]} */
const SECTIONS = [
  { id: "you", words: "settings.you", icon: "person", Page: You },
  { id: "people", words: "settings.people", icon: "people", Page: People },
  { id: "channels", words: "settings.channels", icon: "phone", Page: Channels },
  { id: "labels", words: "settings.labels", icon: "label", Page: Labels },
  { id: "canned-replies", words: "settings.canned_replies", icon: "note", Page: CannedReplies },
  { id: "tokens", words: "settings.tokens", icon: "key", Page: Tokens, mayOpen: isAdmin },
  { id: "webhooks", words: "settings.webhooks", icon: "send", Page: Webhooks, mayOpen: isAdmin },
  { id: "audit", words: "settings.audit", icon: "eye", Page: Audit, mayOpen: isAdminOfAll },
  { id: "all", words: "settings.all", icon: "list", Page: AllSettings, mayOpen: isAdmin },
];

/** Those of who sits here. */
export const sections = () => SECTIONS.filter(({ mayOpen }) => !mayOpen || mayOpen());

export function Settings() {
  const { id } = route.value;
  const mine = sections();
  // Connecting a number is part of the channels.
  const named = id === "connect" ? "channels" : id;
  const open = mine.find((section) => section.id === named) ?? mine[0];
  // On a phone there is room for one of the two: the list, until a section is named.
  return html`<div class="settings ${id ? "has-section" : "has-none"}">
    <nav class="sections" aria-label=${t("settings.sections")}>
      ${id ? html`<p class="sections-title">${t("nav.settings")}</p>` : html`<h1 class="sections-title">${t("nav.settings")}</h1>`}
      ${mine.map((section) => html`
        <a key=${section.id} href="/settings/${section.id}" data-within aria-current=${section === open ? "page" : undefined}>
          <${Icon} name=${section.icon} /><span>${t(section.words)}</span>
        </a>`)}
    </nav>
    <div class="sheet" key=${open.id}>
      <a class="button bare back" href="/settings" data-within><${Icon} name="back" /> ${t("nav.settings")}</a>
      <${open.Page} />
    </div>
  </div>`;
}
