// Something to take along: shown whole, with a button that copies it. What is shown once is said to be.

import { html, useEffect, useId, useRef, useSignal } from "../vendor/preact.js";
import { t } from "../words/index.js";
import { Icon } from "./icon.js";

/** @typedef {HTMLInputElement | HTMLTextAreaElement} Field */

const SAID_MS = 3_000;

/** @param {{label: string, text: string, lines?: number, hint?: any}} props */
export function Copyable({ label, text, lines, hint }) {
  const id = useId();
  const field = useRef(/** @type {Field | null} */ (null));
  const said = useSignal("");
  useEffect(() => {
    if (!said.value) return;
    const timer = setTimeout(() => (said.value = ""), SAID_MS);
    return () => clearTimeout(timer);
  }, [said.value]);

  async function copy() {
    field.current?.select();
    said.value = (await copied(text, field.current)) ? t("copied") : t("copy.by_hand");
  }
  const given = { id, ref: field, readOnly: true, spellcheck: false, "aria-describedby": hint ? `${id}-hint` : undefined };
  return html`<div class="field copyable">
    <label for=${id}>${label}</label>
    <div>
      ${lines ? html`<textarea ...${given} rows=${lines} value=${text}></textarea>` : html`<input ...${given} value=${text} />`}
      <button type="button" onClick=${copy} aria-label=${t("copy.what", { what: label })}>
        <${Icon} name=${said.value ? "check" : "file"} /><span role="status">${said.value || t("copy")}</span>
      </button>
    </div>
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
  </div>`;
}

/** Whether it is on the clipboard now. @param {string} text @param {Field | null} [field] where it stands, if it does in one */
export async function copied(text, field) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page that came over plain http has no clipboard; the older way takes what is selected.
    return field ? copiedFrom(field) : copiedUnseen(text);
  }
}

/** @param {Field} field */
function copiedFrom(field) {
  field.focus();
  field.select();
  return document.execCommand("copy");
}

/** From a field that is there for no longer than that takes. @param {string} text */
function copiedUnseen(text) {
  const before = document.activeElement;
  const field = document.createElement("textarea");
  Object.assign(field, { value: text, readOnly: true, className: "unseen" });
  document.body.append(field);
  const isCopied = copiedFrom(field);
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}
