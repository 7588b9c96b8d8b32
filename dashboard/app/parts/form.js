// Forms: what is sent, while it is sent, and what the API says of each field, beside that field.

import { createContext, html, useContext, useEffect, useId, useLayoutEffect, useRef, useSignal } from "../vendor/preact.js";
import { Problem } from "../wire/api.js";
import { t } from "../words/index.js";
import { problemText } from "./toast.js";

/**
 * @typedef {{problem: Problem | null, isBusy: boolean, drawn: Map<string, string>}} Within
 *   `drawn` are the fields shown, with what stands in each unless somebody has changed it. What the API says of another is said
 *   at the end of the form.
 */
const Within = createContext(/** @type {Within} */ ({ problem: null, isBusy: false, drawn: new Map() }));

/** @param {string} pointer as RFC 6901 writes it */
const nameOf = (pointer) => pointer.replace(/^\//, "").replaceAll("~1", "/").replaceAll("~0", "~");

/** What the API says of a field; of a list also what it says of one in it. @param {Problem | null} problem @param {string} name */
const faultOf = (problem, name) =>
  problem?.errors.find(({ pointer }) => nameOf(pointer) === name || nameOf(pointer).startsWith(`${name}/`))?.detail ?? "";

/**
 * @param {{
 *   onSend: (given: FormData, form: HTMLFormElement) => Promise<any>,
 *   children?: any, class?: string, label?: string,
 *   words?: (problem: Problem) => string | null,
 * }} props `onSend` is over when it is sent: what holds since is drawn after that. `words` says a refusal better than the API
 *   does; null leaves it as it is
 */
export function Form({ onSend, children, class: look = "form", label, words }) {
  const problem = useSignal(/** @type {Problem | null} */ (null));
  const isBusy = useSignal(false);
  const drawn = useRef(/** @type {Map<string, string>} */ (new Map()));
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    if (isBusy.peek() || !form.current) return;
    isBusy.value = true;
    const given = new FormData(form.current);
    try {
      await onSend(given, form.current);
      problem.value = null;
      // What was sent is what holds: from here on it is nobody's change any more.
      for (const name of drawn.current.keys()) if (given.has(name)) drawn.current.set(name, String(given.get(name)));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problem.value = error;
    } finally {
      isBusy.value = false;
    }
  }

  // Whoever is told that a field is wrong stands in it already.
  useEffect(() => {
    const wrong = form.current?.querySelector("[aria-invalid=true]");
    if (problem.value && wrong instanceof HTMLElement) wrong.focus();
  }, [problem.value]);

  const within = { problem: problem.value, isBusy: isBusy.value, drawn: drawn.current };
  return html`<form ref=${form} class=${look} aria-label=${label} onSubmit=${submit} aria-busy=${isBusy.value}>
    <${Within.Provider} value=${within}>${children}<${Rest} words=${words} /></${Within.Provider}>
  </form>`;
}

/** What was refused and belongs to no field that is shown. @param {{words?: (problem: Problem) => string | null}} props */
function Rest({ words }) {
  const { problem, drawn } = useContext(Within);
  const isBeside = problem !== null && problem.errors.length > 0 && [...drawn.keys()].some((name) => faultOf(problem, name));
  const text = problem && !isBeside ? words?.(problem) ?? problemText(problem) : "";
  return html`<p class="problem form-problem" role="alert">${text}</p>`;
}

/** Sends the form; says so while it is sent. @param {{children?: any, class?: string, disabled?: boolean}} props */
export function Send({ children, class: look = "is-primary", disabled = false }) {
  const { isBusy } = useContext(Within);
  // Not disabled while it is sent: that would take the focus away from it. A second press does nothing.
  return html`<button class=${look} disabled=${disabled} aria-disabled=${isBusy ? "true" : undefined}>${isBusy ? t("form.sending") : children}</button>`;
}

/**
 * @typedef {{value: string, words: string}} Option
 * @param {{
 *   name: string, label: string, hint?: any, unit?: string, initial?: string | number | null,
 *   options?: Option[], lines?: number, fault?: string, [attribute: string]: any,
 * }} props `initial` is what stands there while nobody has typed anything else; `options` makes it a choice, `lines` a text of
 *   several lines
 */
export function Field({ name, label, hint, unit, initial, options, lines, fault, class: look = "", onInput, ...rest }) {
  const { problem, drawn } = useContext(Within);
  const id = useId();
  const field = useRef(/** @type {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement | null} */ (null));
  // What was wrong is no longer said once it is being changed.
  const hushed = useSignal(/** @type {Problem | null} */ (null));
  // A field that was typed in once follows `defaultValue` no more, although what was typed there was sent long ago.
  useLayoutEffect(() => {
    const it = field.current;
    const wanted = String(initial ?? "");
    if (!it) return;
    if (it.value === drawn.get(name)) it.value = wanted;
    if (!drawn.has(name) || it.value === wanted) drawn.set(name, it.value);
  }, [name, initial]);
  useEffect(() => () => void drawn.delete(name), [name]);
  const wrong = fault || (hushed.value === problem ? "" : faultOf(problem, name));
  const given = {
    ...rest, ref: field, id: `${id}-field`, name,
    "aria-invalid": wrong ? "true" : undefined,
    "aria-describedby": [hint && `${id}-hint`, wrong && `${id}-wrong`].filter(Boolean).join(" ") || undefined,
    onInput: (/** @type {InputEvent} */ event) => {
      hushed.value = problem;
      onInput?.(event);
    },
  };
  return html`<div class="field ${look}">
    <label for=${given.id}>${label}</label>
    <div class=${unit ? "with-unit" : "without-unit"}>
      ${options ? html`<${Choices} given=${given} options=${options} initial=${initial} />`
      : lines ? html`<textarea ...${given} rows=${lines} defaultValue=${initial ?? ""}></textarea>`
      : html`<input ...${given} defaultValue=${initial ?? ""} />`}
      ${unit && html`<span class="unit" aria-hidden="true">${unit}</span>`}
    </div>
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
    ${wrong && html`<p class="problem" id="${id}-wrong">${wrong}</p>`}
  </div>`;
}

/** @param {{given: Record<string, any>, options: Option[], initial?: string | number | null}} props */
function Choices({ given, options, initial }) {
  return html`<select ...${given}>
    ${options.map(({ value, words }) => html`<option key=${value} value=${value} selected=${String(initial ?? "") === value}>${words}</option>`)}
  </select>`;
}

/** A box to tick. @param {{name?: string, label: string, hint?: any, [attribute: string]: any}} props */
export function Tick({ name, label, hint, ...rest }) {
  const id = useId();
  return html`<div class="field is-tick">
    <label class="is-check"><input type="checkbox" name=${name} ...${rest} aria-describedby=${hint ? id : undefined} /><span>${label}</span></label>
    ${hint && html`<p class="hint" id=${id}>${hint}</p>`}
  </div>`;
}

/** One of a few, all in sight. @param {{name: string, label: string, options: Option[], value: string, onChoose: (value: string) => void}} props */
export function OneOf({ name, label, options, value, onChoose }) {
  return html`<fieldset class="one-of">
    <legend>${label}</legend>
    <div>
      ${options.map((option) => html`<label key=${option.value}>
        <input type="radio" name=${name} value=${option.value} checked=${option.value === value} onChange=${() => onChoose(option.value)} />
        <span>${option.words}</span>
      </label>`)}
    </div>
  </fieldset>`;
}
