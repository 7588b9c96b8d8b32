// A dialog over the page: the browser's own, so that focus stays inside, Escape closes it, and the page behind is inert.

import { html, useEffect, useId, useRef } from "../vendor/preact.js";
import { t } from "../words/index.js";
import { Icon } from "./icon.js";

/** @param {{title: string, onClose: () => void, children?: any, wide?: boolean}} props */
export function Dialog({ title, onClose, children, wide }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
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
      onClick=${(/** @type {MouseEvent} */ event) => event.target === dialog.current && onClose()}>
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
