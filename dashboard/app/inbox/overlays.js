// What lies over every page: the palette, the list of keys, and the calls for a person.

import { html, useEffect, useSignal } from "../vendor/preact.js";
import { useKeys } from "../parts/keys.js";
import { t } from "../words/index.js";
import { announcement, begin } from "./alerts.js";
import { Help } from "./help.js";
import { Palette } from "./palette.js";

export function Overlays() {
  const shown = useSignal(/** @type {"help" | "palette" | null} */ (null));
  const close = () => (shown.value = null);
  useEffect(begin, []);
  useKeys([
    { key: "mod+k", words: t("keys.palette"), whileTyping: true, run: () => (shown.value = shown.peek() === "palette" ? null : "palette") },
    { key: "?", words: t("keys.help"), run: () => (shown.value = "help") },
  ], []);
  return html`
    <p class="unseen" role="status" aria-live="polite"><span key=${announcement.value.nth}>${announcement.value.text}</span></p>
    ${shown.value === "palette" && html`<${Palette} onClose=${close} />`}
    ${shown.value === "help" && html`<${Help} onClose=${close} />`}`;
}
