// What surrounds every page: the way between pages, who sits here, and whether what is shown is live.

import { html } from "./vendor/preact.js";
import { told } from "./state/feed.js";
import { route } from "./state/route.js";
import { isKnown, me } from "./state/session.js";
import { filter, needed } from "./state/conversations.js";
import { inboxAt } from "./state/filter.js";
import { number, t } from "./words/index.js";
import { places } from "./places.js";
import { Icon } from "./parts/icon.js";
import { Toasts } from "./parts/toast.js";
import { Inbox } from "./inbox/inbox.js";
import { Overlays } from "./inbox/overlays.js";
import { SignIn } from "./pages/sign_in.js";
import { Page, isPage } from "./pages/index.js";

export function Shell() {
  if (!isKnown.value) return html`<p class="waiting" role="status">${t("loading")}</p>`;
  if (!me.value || route.value.page === "sign-in") return html`<${SignIn} /><${Toasts} />`;
  const { page } = route.value;
  return html`
    <a class="skip" href="#page">${t("skip")}</a>
    <div class="shell">
      <${Navigation} />
      <main id="page" class="page-${page}">${isPage(page) ? html`<${Page} key=${page} name=${page} />` : page === "inbox" ? html`<${Inbox} />` : html`<${Nowhere} />`}</main>
    </div>
    <${Overlays} /><${Toasts} />`;
}

/** The address is mistyped, or of another version. */
function Nowhere() {
  return html`<div class="empty"><h1>${t("page.none")}</h1><a class="button" href=${inboxAt(filter.value)} data-within>${t("thread.back")}</a></div>`;
}

function Navigation() {
  return html`<nav class="rail" aria-label=${t("nav.main")}>
    ${places().map(({ page, words, icon, href }) => html`
      <a key=${page} href=${href} data-within aria-current=${route.value.page === page ? "page" : undefined}>
        <${Icon} name=${icon} /><span>${t(words)}</span>
        ${page === "inbox" && needed.value > 0 && html`<span class="badge is-urgent">${number(needed.value)}</span>`}
      </a>`)}
    <${Connection} />
  </nav>`;
}

function Connection() {
  const words = { live: t("live"), connecting: t("live.connecting"), reconnecting: t("live.reconnecting"), mute: t("live.mute") }[told.value];
  return html`<p class="connection is-${told.value}" role="status" title=${words}><span>${words}</span></p>`;
}
