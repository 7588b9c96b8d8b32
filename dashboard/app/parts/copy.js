// Something to take along: shown whole, with a button that copies it. What is shown once is said to be.

import { html, useEffect, useId, useRef, useSignal } from "../vendor/preact.js";
import { t } from "../words/index.js";
import { Icon } from "./icon.js";

const SAID_MS = 3_000;

/** @param {{label: string, text: string, lines?: number, hint?: any}} props */
export function Copyable({ label, text, lines, hint }) {
  const id = useId();
  const field = useRef(/** @type {HTMLInputElement | HTMLTextAreaElement | null} */ (null));
  const said = useSignal("");
  useEffect(() => {
    if (!said.value) return;
    const timer = setTimeout(() => (said.value = ""), SAID_MS);
    return () => clearTimeout(timer);
  }, [said.value]);

  async function copy() {
    field.current?.select();
    said.value = (await copied(text)) ? t("copied") : t("copy.by_hand");
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

/** Whether it is on the clipboard now. @param {string} text */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page that came over plain http has no clipboard; the older way takes what is selected.
    return document.execCommand("copy");
  }
}
