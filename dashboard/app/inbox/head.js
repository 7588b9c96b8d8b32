// The top of the thread: whose it is, who else looks at it, and the ways back and aside.

import { html } from "../vendor/preact.js";
import { filter } from "../state/conversations.js";
import { inboxAt } from "../state/filter.js";
import { mayAct, me } from "../state/session.js";
import { Avatar } from "../parts/avatar.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { t } from "../words/index.js";
import { contactName } from "./names.js";
import { Status } from "./status.js";

/** @import * as Wire from "../../types/wire.js" */

/** @param {{it: Wire.Conversation, live: import("../state/live.js").Live, onUnread: () => void, isAside: boolean, onAside: () => void}} props */
export function Head({ it, live, onUnread, isAside, onAside }) {
  return html`<header class="thread-head">
    <a class="button bare back" href=${inboxAt(filter.value)} data-within aria-label=${t("thread.back")}><${Icon} name="back" /></a>
    <${Avatar} name=${it.contact.name} chat=${it.chat_id} />
    <div class="thread-who">
      <h2 id="thread-title" tabindex="-1"><span dir="auto">${contactName(it)}</span></h2>
      <p><${Presence} live=${live} fallback=${it.contact.name ? it.contact.phone ?? it.chat_id : it.chat_id} /></p>
    </div>
    <div class="thread-tools">
      ${mayAct() && html`<${Status} it=${it} />`}
      ${mayAct() && html`<${Menu} icon="more" label=${t("thread.more")} items=${[
        { icon: "mail", words: t("thread.unread"), run: onUnread },
      ]} />`}
      <button type="button" class="bare aside-button" aria-expanded=${isAside} aria-controls="context" aria-label=${t("thread.aside")} title=${t("thread.aside")} onClick=${onAside}><${Icon} name="panel" /></button>
    </div>
  </header>`;
}

/** Who else is here; else how the contact is reached. @param {{live: import("../state/live.js").Live, fallback: string}} props */
function Presence({ live, fallback }) {
  const others = live.present.value.filter((one) => one.id !== me.value?.id);
  const writing = others.filter((one) => one.state === "writing").map((one) => one.name);
  const looking = others.filter((one) => one.state === "viewing").map((one) => one.name);
  const said = [
    writing.length > 0 && t("presence.writing", { count: writing.length, names: writing.join(", ") }),
    looking.length > 0 && t("presence.looking", { count: looking.length, names: looking.join(", ") }),
  ].filter(Boolean).join(" · ");
  return html`<span aria-live="polite">${said && html`<span class="presence"><${Icon} name="eye" />${said}</span>`}</span>${!said && html`<span>${fallback}</span>`}`;
}
