// The code with which a phone is linked: as Green API gives it, a new one before the old one is over, until the phone is linked.

import { html, useEffect } from "../../vendor/preact.js";
import { isAdmin } from "../../state/session.js";
import { t } from "../../words/index.js";
import { useAsked } from "../../parts/asked.js";
import { Failed } from "../listing.js";

/** @import * as Wire from "../../../types/wire.js" */

/** A code is good for some twenty seconds. */
const EVERY_MS = 17_000;
/** States in which a code helps, or in which nobody knows better yet. The others have a cause that no code mends. */
const UNLINKED = ["", "notAuthorized", "starting"];

/** @param {Wire.Channel} channel */
export const isToBeLinked = (channel) => isAdmin() && channel.provider === "green_api" && UNLINKED.includes(channel.state ?? "");

/** @param {{channel: Wire.Channel}} props */
export function LinkPhone({ channel }) {
  const { answer, problem, again } = useAsked(`/channels/${encodeURIComponent(channel.name)}/qr`);
  const code = /** @type {Wire.PhoneLink | null} */ (answer);
  const isOver = code?.state === "linked";
  useEffect(() => {
    if (isOver) return;
    // A page that nobody sees asks for nothing; whoever comes back to it sees a code that still works.
    let isDue = false;
    const look = () => {
      isDue = document.hidden;
      if (!isDue) void again();
    };
    const back = () => isDue && look();
    const timer = setInterval(look, EVERY_MS);
    document.addEventListener("visibilitychange", back);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", back);
    };
  }, [isOver, channel.name]);
  // What could not be asked again is soon over: an old code is not shown as one that works.
  if (problem) return html`<div class="link-phone"><${Failed} problem=${problem} again=${again} /></div>`;
  return html`<div class="link-phone">
    ${code?.state === "qr_code" && code.image && html`
      <img src=${code.image} alt=${t("link.alt", { name: channel.title || channel.name })} width="256" height="256" />
      <p>${t("link.how")}</p>`}
    <p role="status">${!code ? t("link.asking") : isOver ? t("link.linked") : code.state === "unavailable" ? t("link.unavailable", { why: code.detail || t("link.no_reason") }) : ""}</p>
    ${code?.state === "unavailable" && html`<p><button onClick=${again}>${t("retry")}</button></p>`}
  </div>`;
}
