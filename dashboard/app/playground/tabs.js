// On a narrow page the four parts of the playground stand behind tabs; on a wide one they stand side by side, and there are none.

import { html, useEffect, useSignal } from "../vendor/preact.js";
import { t } from "../words/index.js";

/** @typedef {"phone" | "agent" | "decisions" | "knobs"} Place */

/** As the style sheet has it. */
const NARROW = "(max-width: 720px)";

export function useNarrow() {
  const isNarrow = useSignal(matchMedia(NARROW).matches);
  useEffect(() => {
    const media = matchMedia(NARROW);
    const turned = () => (isNarrow.value = media.matches);
    media.addEventListener("change", turned);
    return () => media.removeEventListener("change", turned);
  }, []);
  return isNarrow.value;
}

/** @param {{tabs: {place: Place, words: string, isMarked?: boolean}[], shown: Place, onShow: (place: Place) => void}} props */
export function Tabs({ tabs, shown, onShow }) {
  /** @param {KeyboardEvent} event */
  function key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = tabs.findIndex(({ place }) => place === shown);
    const to = tabs[(at + step + tabs.length) % tabs.length].place;
    onShow(to);
    document.getElementById(`play-tab-${to}`)?.focus();
  }
  return html`<div class="play-tabs" role="tablist" aria-label=${t("play.parts")} onKeyDown=${key}>
    ${tabs.map(({ place, words, isMarked }) => html`
      <button key=${place} id="play-tab-${place}" role="tab" aria-selected=${place === shown} aria-controls="play-${place}"
        tabindex=${place === shown ? 0 : -1} onClick=${() => onShow(place)}>
        ${words}${isMarked && html`<span class="mark"><span class="unseen"> ${t("play.troubled")}</span></span>`}
      </button>`)}
  </div>`;
}

/** @param {{place: Place, isNarrow: boolean, shown: Place, children?: any}} props */
export function Panel({ place, isNarrow, shown, children }) {
  return html`<div class="play-${place}" id="play-${place}" role=${isNarrow ? "tabpanel" : undefined}
    aria-labelledby=${isNarrow ? `play-tab-${place}` : undefined} hidden=${isNarrow && shown !== place}>${children}</div>`;
}
