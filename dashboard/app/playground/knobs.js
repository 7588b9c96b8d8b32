// What can be made to go wrong, and what to watch for when it does.

import { html, useId, useSignal } from "../vendor/preact.js";
import { span, t, word } from "../words/index.js";
import { sayProblem } from "../parts/toast.js";
import { CALM, behave, behaviour, isTroubled } from "./behaviour.js";

/** @import { Behaviour } from "./behaviour.js" */

const SLIDER_MAX_MS = 20_000;
const SLIDER_STEP_MS = 500;

/** @type {Behaviour["model_fault"][]} */
const MODEL_FAULTS = ["none", "error", "cut", "empty", "rate_limited", "hang"];
/** @type {Behaviour["provider_fault"][]} */
const PROVIDER_FAULTS = ["none", "refused", "hang", "lost_answer", "server_error"];

/** @param {Partial<Behaviour>} change */
const turn = (change) => behave(change).catch(sayProblem);

export function Knobs() {
  const it = behaviour.value ?? CALM;
  return html`<section class="knobs" aria-labelledby="play-knobs">
    <header>
      <h2 id="play-knobs">${t("play.knobs")}</h2>
      ${isTroubled.value && html`<span class="tag is-warn">${t("play.troubled")}</span>`}
      <button id="play-reset" onClick=${() => void turn(CALM)} disabled=${!isTroubled.value && it.model_delay_ms === CALM.model_delay_ms}>${t("play.reset")}</button>
    </header>
    <${Delay} id="play-model-delay" label=${t("play.delay_model")} value=${it.model_delay_ms} hint=${t("play.watch.model_delay")}
      onTurn=${(/** @type {number} */ ms) => turn({ model_delay_ms: ms })} />
    <${Fault} id="play-model-fault" label=${t("play.fault_model")} value=${it.model_fault}
      options=${MODEL_FAULTS.map((fault) => ({ fault, words: word("model_fault", fault) }))} hint=${word("watch_model", it.model_fault)}
      onTurn=${(/** @type {any} */ fault) => turn({ model_fault: fault })} />
    <${Delay} id="play-provider-delay" label=${t("play.delay_provider")} value=${it.provider_delay_ms} hint=${t("play.watch.provider_delay")}
      onTurn=${(/** @type {number} */ ms) => turn({ provider_delay_ms: ms })} />
    <${Fault} id="play-provider-fault" label=${t("play.fault_provider")} value=${it.provider_fault}
      options=${PROVIDER_FAULTS.map((fault) => ({ fault, words: word("provider_fault", fault) }))} hint=${word("watch_provider", it.provider_fault)}
      onTurn=${(/** @type {any} */ fault) => turn({ provider_fault: fault })} />
    <${Twice} value=${it.duplicate_webhooks} />
  </section>`;
}

/** @param {{id: string, label: string, value: number, hint: string, onTurn: (ms: number) => Promise<void>}} props */
function Delay({ id, label, value, hint, onTurn }) {
  // While it is dragged it shows where it would be; the server gets it once, when it is let go.
  const held = useSignal(/** @type {number | null} */ (null));
  const shown = held.value ?? value;
  const words = shown === 0 ? t("play.no_delay") : span(shown);
  return html`<div class="knob">
    <label for=${id}>${label}</label>
    <input id=${id} type="range" min="0" max=${Math.max(SLIDER_MAX_MS, value)} step=${SLIDER_STEP_MS} value=${shown}
      aria-valuetext=${words} aria-describedby="${id}-hint"
      onInput=${(/** @type {any} */ event) => (held.value = Number(event.target.value))}
      onChange=${async (/** @type {any} */ event) => {
        await onTurn(Number(event.target.value));
        held.value = null;
      }} />
    <output for=${id}>${words}</output>
    <p class="hint" id="${id}-hint">${hint}</p>
  </div>`;
}

/** @param {{id: string, label: string, value: string, options: {fault: string, words: string}[], hint: string, onTurn: (fault: string) => void}} props */
function Fault({ id, label, value, options, hint, onTurn }) {
  return html`<div class="knob ${value === "none" ? "" : "is-on"}">
    <label for=${id}>${label}</label>
    <select id=${id} value=${value} aria-describedby="${id}-hint" onChange=${(/** @type {any} */ event) => onTurn(event.target.value)}>
      ${options.map(({ fault, words }) => html`<option key=${fault} value=${fault} selected=${fault === value}>${words}</option>`)}
    </select>
    <p class="hint" id="${id}-hint" aria-live="polite">${hint}</p>
  </div>`;
}

/** @param {{value: boolean}} props */
function Twice({ value }) {
  const hint = useId();
  return html`<div class="knob ${value ? "is-on" : ""}">
    <label class="is-check"><input id="play-twice" type="checkbox" checked=${value} aria-describedby=${hint}
      onChange=${(/** @type {any} */ event) => turn({ duplicate_webhooks: event.target.checked })} />${t("play.twice")}</label>
    <p class="hint" id=${hint}>${t("play.watch.twice")}</p>
  </div>`;
}
