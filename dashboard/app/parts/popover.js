// Something that opens over the page beside the button that opens it: the browser's own popover, so that Escape and a
// click elsewhere close it and nothing lies above it.

import { html, useId, useLayoutEffect, useRef, useSignal } from "../vendor/preact.js";
import { Icon } from "./icon.js";

/** Kept between the panel and the edge of the window. */
const EDGE = 8;
const GAP = 4;

/** Puts the panel below the button, or above it where there is no room. @param {HTMLElement} panel @param {HTMLElement} button */
function place(panel, button) {
  const at = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = panel;
  const isRoom = at.bottom + GAP + height + EDGE <= innerHeight || at.top < height + GAP + EDGE;
  const left = Math.min(Math.max(EDGE, at.right - width), innerWidth - width - EDGE);
  const top = isRoom ? Math.min(at.bottom + GAP, Math.max(EDGE, innerHeight - height - EDGE)) : at.top - GAP - height;
  panel.style.left = `${left}px`;
  panel.style.top = `${top}px`;
}

/**
 * @param {{
 *   label?: string, words?: any, icon?: import("./icon.js").IconName, class?: string, title?: string, badge?: any, disabled?: boolean,
 *   kind?: "menu" | "dialog", panelLabel?: string, onOpened?: (panel: HTMLElement) => void,
 *   children: (close: () => void) => any,
 * }} props `children` is asked for what stands in it only while it is open; it may close it
 */
export function Popover({ label, words, icon, class: look = "bare", title, badge, disabled, kind = "dialog", panelLabel, onOpened, children }) {
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const panel = useRef(/** @type {HTMLElement | null} */ (null));
  const isOpen = useSignal(false);
  const id = useId();

  function close() {
    panel.current?.hidePopover();
    button.current?.focus();
  }
  /** @param {ToggleEvent} event */
  function toggled(event) {
    isOpen.value = event.newState === "open";
  }
  // As soon as it is drawn, before anybody sees it: a click at where it stood until then would fall beside it.
  useLayoutEffect(() => {
    if (!isOpen.value || !panel.current || !button.current) return;
    place(panel.current, button.current);
    onOpened?.(panel.current);
  }, [isOpen.value]);
  // A key pressed in here is for what is in here; Escape is the browser's.
  const keep = (/** @type {KeyboardEvent} */ event) => event.key !== "Escape" && event.stopPropagation();

  return html`
    <button type="button" ref=${button} class=${look} popovertarget=${id} aria-haspopup=${kind} aria-expanded=${isOpen.value}
        aria-label=${label} title=${title ?? label} disabled=${disabled}>
      ${icon && html`<${Icon} name=${icon} />`}${words}${badge}
    </button>
    <div id=${id} ref=${panel} popover="auto" class="popover" role=${kind === "menu" ? undefined : "dialog"} aria-label=${kind === "menu" ? undefined : panelLabel ?? label}
        onToggle=${toggled} onKeyDown=${keep}>
      ${isOpen.value && children(close)}
    </div>`;
}
