// Notifications of the browser: wished for here, allowed by the browser, which is asked only when somebody clicks.

import { html, useSignal } from "../../vendor/preact.js";
import { prefer, preferences } from "../../state/preferences.js";
import { t } from "../../words/index.js";
import { Tick } from "../../parts/form.js";
import { sayProblem } from "../../parts/toast.js";

/** @returns {NotificationPermission | "absent"} */
const permission = () => (globalThis.Notification && isSecureContext ? Notification.permission : "absent");

/** Phones say that they have notifications, and then let no page make one. */
function isShown() {
  try {
    new Notification(t("you.notify")).close();
    return true;
  } catch {
    return false;
  }
}

export function Notifications() {
  const allowed = useSignal(permission());
  const isWished = preferences.value.notifications;

  /** @param {{target: HTMLInputElement}} event */
  async function change({ target }) {
    const wish = target.checked;
    if (wish && allowed.peek() === "default") allowed.value = await Notification.requestPermission();
    if (wish && allowed.peek() === "granted" && !isShown()) allowed.value = "absent";
    const notifications = wish && allowed.peek() === "granted";
    // The box shows what holds, not what was wished for.
    target.checked = notifications;
    // What this phone cannot show, another browser of the same person may.
    if (allowed.peek() === "absent") return;
    await prefer({ notifications }).catch(sayProblem);
  }
  const words = {
    absent: t("you.notify_absent"),
    denied: t("you.notify_denied"),
    default: t("you.notify_ask"),
    granted: t("you.notify_hint"),
  }[allowed.value];
  return html`<${Tick} label=${t("you.notify")} hint=${words} checked=${isWished && allowed.value === "granted"}
    disabled=${allowed.value === "absent" || allowed.value === "denied"} onChange=${change} />`;
}
