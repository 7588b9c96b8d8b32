// A dialog over the page: the browser's own, so that focus stays inside, Escape closes it, and the page behind is inert.

import { html, useEffect, useId, useRef, useSignal } from "../vendor/preact.js";
import { t } from "../words/index.js";
import { Icon } from "./icon.js";

/** What stands in the fields of its forms. @param {HTMLElement | null} within */
const fieldsOf = (within) => [...within?.querySelectorAll("form :is(input, select, textarea)") ?? []].map((it) =>
  it instanceof HTMLInputElement && ["checkbox", "radio"].includes(it.type) ? it.checked : /** @type {HTMLInputElement} */ (it).value);

/**
 * Keeps what somebody has typed from going by a slip. @param {() => (string | boolean)[]} fields what stands there now; asked
 * for at once, too: so they began
 */
export function keeper(fields) {
  const state = () => JSON.stringify(fields());
  const began = state();
  let warnedOf = "";
  // A form that was sent may have given way to what came of it.
  const isTyped = () => fields().length > 0 && state() !== began;
  return {
    isTyped,
    /** Whether Escape closes it: with what is typed there at the second time. */
    yields() {
      const isWarned = warnedOf === state();
      warnedOf = state();
      return isWarned || !isTyped();
    },
  };
}

/**
 * @param {{title: string, onClose: () => void, children?: any, wide?: boolean, once?: boolean}} props
 *   `once`: what is in it is shown this once, and a click beside it, which may be an accident, does not close it.
 *   Nor does it close a form that somebody has typed in; Escape does at the second time.
 */
export function Dialog({ title, onClose, children, wide, once }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  /** Whoever selects words may let go beside it, and to the browser that is a click there: where it began counts too. */
  const isPressedBeside = useRef(false);
  const heading = useId();
  const typed = useRef(/** @type {ReturnType<typeof keeper> | null} */ (null));
  const isWarned = useSignal(false);
  const isGone = useRef(false);
  useEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    shown?.showModal();
    typed.current = keeper(() => fieldsOf(shown));
    return () => {
      isGone.current = true;
      shown?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  /** @param {Event} event */
  function cancel(event) {
    event.preventDefault();
    if (typed.current?.yields() ?? true) onClose();
    else isWarned.value = true;
  }
  // A browser may close it at the second Escape in a row whether we would or not: that is told as `close`.
  return html`<dialog ref=${dialog} class=${wide ? "is-wide" : ""} aria-labelledby=${heading}
      onCancel=${cancel} onClose=${() => isGone.current || onClose()}
      onPointerDown=${(/** @type {Event} */ event) => (isPressedBeside.current = event.target === dialog.current)}
      onClick=${(/** @type {Event} */ event) => event.target === dialog.current && isPressedBeside.current && !once && !typed.current?.isTyped() && onClose()}>
    <div class="dialog-body">
      <header>
        <h2 id=${heading}>${title}</h2>
        <button class="bare" onClick=${onClose} aria-label=${t("close")}><${Icon} name="close" /></button>
      </header>
      ${isWarned.value && html`<p class="problem" role="alert">${t("dialog.unsaved")}</p>`}
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
