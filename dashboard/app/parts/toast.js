// Short words about what was just done or could not be. They go away by themselves, unless they are about a failure.

import { effect, html, signal, untracked, useRef } from "../vendor/preact.js";
import { Problem } from "../wire/api.js";
import { en } from "../words/en.js";
import { LANGUAGES, language, t, unfetched } from "../words/index.js";
import { Icon } from "./icon.js";
import { useKeptFocus } from "./kept_focus.js";

const SHOWN_MS = 5_000;
/** With something to press: as long as it takes to get there by keys. */
const PRESSED_MS = 15_000;

/** @import { Key } from "../words/index.js" */
/** @typedef {{id: number, text: string, isBad: boolean, act: {label: string, run: () => void} | null}} Toast */

/** @type {import("../vendor/preact.js").Signal<Toast[]>} */
export const toasts = signal([]);
let last = 0;

/** @param {number} id */
const drop = (id) => {
  toasts.value = toasts.peek().filter((toast) => toast.id !== id);
};

/** Not while its button has the focus. @param {number} id @param {number} ms */
const dropAfter = (id, ms) => void setTimeout(() => (document.querySelector(`#toast-${id}:focus-within`) ? dropAfter(id, ms) : drop(id)), ms);

/** @param {string} text @param {Toast["act"]} [act] */
export function say(text, act = null) {
  const id = ++last;
  toasts.value = [...toasts.peek(), { id, text, isBad: false, act }];
  dropAfter(id, act ? PRESSED_MS : SHOWN_MS);
}

/** Stays until somebody has seen it; the same is not said twice. @param {string} text @param {Toast["act"]} [act] */
export function warn(text, act = null) {
  if (toasts.peek().some((toast) => toast.text === text)) return;
  toasts.value = [...toasts.peek(), { id: ++last, text, isBad: true, act }];
}

// What a browser failed to fetch once, it may not ask for again: the page is reloaded.
effect(() => {
  const tag = unfetched.value;
  if (tag) untracked(() => warn(t("language.not_fetched", { name: LANGUAGES[tag].name }), { label: t("retry"), run: () => location.reload() }));
});

/** Says what went wrong, in words for people. Faults of our own are not dressed up as one. @param {unknown} error */
export function sayProblem(error) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  if (!(error instanceof Problem)) throw error;
  warn(problemText(error));
}

/** Of these the server says nothing of its own, or what is for programs. */
const PLAIN = ["unauthorized", "forbidden", "not_found", "idempotency_key_reused", "internal", "unavailable", "follow_up_not_allowed"];

/** @param {Problem} problem */
export function problemText(problem) {
  // A proxy in front, which has words of its own, is not there for long either.
  const code = problem.mayBeDone ? "unanswered" : problem.status === 503 ? "unavailable" : problem.code;
  const key = `problem.${code}`;
  // The server speaks English, and says there more precisely what is in the way.
  if (key in en && (!problem.detail || language.value !== "en" || PLAIN.includes(code))) return t(/** @type {Key} */ (key));
  return problem.errors.length > 0
    ? problem.errors.map(({ pointer, detail }) => `${pointer.replace(/^\//, "")}: ${detail}`).join("; ")
    : problem.message;
}

export function Toasts() {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  /** Where one came from. @type {{current: EventTarget | null}} */
  const came = useRef(null);
  useKeptFocus(box, () => box.current?.querySelector("button") ?? (came.current instanceof HTMLElement && came.current.isConnected ? came.current : document.querySelector("#thread-title, main [tabindex], main a, main button")));
  const enter = (/** @type {FocusEvent} */ { relatedTarget: from }) => void (from instanceof Node && box.current?.contains(from) || (came.current = from));
  return html`<div class="toasts" role="status" aria-live="polite" ref=${box} onFocusIn=${enter}>
    ${toasts.value.map((toast) => html`
      <div class="toast ${toast.isBad ? "is-bad" : ""}" key=${toast.id} id="toast-${toast.id}">
        <span>${toast.text}</span>
        ${toast.act && html`<button class="link" onClick=${() => (toast.act?.run(), drop(toast.id))}>${toast.act.label}</button>`}
        <button class="bare" onClick=${() => drop(toast.id)} aria-label=${t("close")}><${Icon} name="close" /></button>
      </div>`)}
  </div>`;
}
