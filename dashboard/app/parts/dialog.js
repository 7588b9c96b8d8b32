// A dialog over the page: the browser's own, so that focus stays inside, Escape closes it, and the page behind is inert.

import { html, useEffect, useId, useRef } from "../vendor/preact.js";
import { t } from "../words/index.js";
import { Icon } from "./icon.js";

/**
 * @param {{title: string, onClose: () => void, children?: any, wide?: boolean, once?: boolean}} props
 *   `once`: what is in it is shown this once, and a click beside it, which may be an accident, does not close it.
 */
export function Dialog({ title, onClose, children, wide, once }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  /** Whoever selects words may let go beside it, and to the browser that is a click there: where it began counts too. */
  const isPressedBeside = useRef(false);
  const heading = useId();
  useEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    shown?.showModal();
    return () => {
      shown?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return html`<dialog ref=${dialog} class=${wide ? "is-wide" : ""} aria-labelledby=${heading}
      onCancel=${(/** @type {Event} */ event) => (event.preventDefault(), onClose())}
      onPointerDown=${(/** @type {Event} */ event) => (isPressedBeside.current = event.target === dialog.current)}
      onClick=${(/** @type {Event} */ event) => event.target === dialog.current && isPressedBeside.current && !once && onClose()}>
    <div class="dialog-body">
      <header>
        <h2 id=${heading}>${title}</h2>
        <button class="bare" onClick=${onClose} aria-label=${t("close")}><${Icon} name="close" /></button>
      </header>
      ${children}
    </div>
  </dialog>`;
}

/** Asks before something that cannot be taken back. @param {{title: string, text: string, verb: string, onYes: () => void, onClose: () => void}} props */
export function Confirm({ title, text, verb, onYes, onClose }) {
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <p>${text}</p>
    <footer>
      <button onClick=${onClose}>${t("cancel")}</button>
      <button class="is-danger" onClick=${() => (onClose(), onYes())}>${verb}</button>
    </footer>
  </${Dialog}>`;
}
