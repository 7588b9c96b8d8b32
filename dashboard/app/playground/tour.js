// The tour's card: what to do, what is to be seen, and where.

import { html } from "../vendor/preact.js";
import { t, word } from "../words/index.js";
import { Icon } from "../parts/icon.js";
import { useKeys } from "../parts/keys.js";
import { sayProblem } from "../parts/toast.js";
import { behave } from "./behaviour.js";
import { Pointer } from "./pointer.js";
import { sayQuickly } from "./quickly.js";
import { next, stop, tour } from "./tour_run.js";
import { QUICK, STEPS } from "./tour_steps.js";

/** @import { Screen } from "./screen.js" */
/** @import { Phase, Step, Tour } from "./tour_steps.js" */

const WORDS = /** @type {const} */ ({ 1: "tour_1", 2: "tour_2", 3: "tour_3", 4: "tour_4" });

const PHONE_TAB = "#play-tab-phone";
const AGENT_TAB = "#play-tab-agent";
const DECISIONS_TAB = "#play-tab-decisions";
const KNOBS_TAB = "#play-tab-knobs";
const MODE = ["#play-agent .mode-line", AGENT_TAB];
const RECEIPT = ["#play-agent .said", ...MODE];

/** What each phase of a step is about. @type {Record<Step, Partial<Record<Phase, string[]>>>} */
const PLACES = {
  1: { held: MODE, write: ["#play-three", PHONE_TAB], wait: ["#play-log", PHONE_TAB], look: ["#play-agent .thread-body", AGENT_TAB], done: ["#play-decisions", DECISIONS_TAB] },
  2: { held: MODE, ask: ["#tour-do"], press: MODE, late: MODE, done: RECEIPT },
  3: { answer: ["#play-agent .composer", AGENT_TAB], give: MODE, done: MODE },
  4: { held: MODE, choose: ["#play-provider-fault", KNOBS_TAB], say: ["#tour-do"], watch: ["#play-decisions", DECISIONS_TAB], done: ["#play-decisions", DECISIONS_TAB] },
};

/** @param {{screen: Screen}} props */
export function TourCard({ screen }) {
  const at = /** @type {Tour} */ (tour.value);
  const isDone = at.phase === "done";
  const isLast = at.step === STEPS.at(-1);
  useKeys([{ key: "]", words: t("tour.next"), run: next }], []);
  return html`<section class="tour ${isDone ? "is-done" : ""}" aria-label=${t("tour.title")} id="play-tour" data-step=${at.step} data-phase=${at.phase}>
    <ol class="tour-steps" aria-hidden="true">
      ${STEPS.map((step) => html`<li key=${step} class=${step < at.step || (step === at.step && isDone) ? "is-done" : step === at.step ? "is-here" : ""}>
        ${step < at.step || (step === at.step && isDone) ? html`<${Icon} name="check" />` : step}</li>`)}
    </ol>
    <div role="status">
      <h2><span class="unseen">${t("tour.step", { step: at.step, of: STEPS.length })} </span>${word(WORDS[at.step], "title")}</h2>
      <p>${keyed(word(WORDS[at.step], at.phase))}${at.phase === "write" && at.written > 0 && ` ${t("tour.written", { count: at.written, of: QUICK })}`}</p>
    </div>
    <footer>
      <${Act} at=${at} screen=${screen} />
      <button id="tour-next" class=${isDone ? "is-primary" : "link"} onClick=${next}>
        ${isDone ? (isLast ? t("tour.finish") : t("tour.next")) : t("tour.skip")}${isDone && html`<kbd>]</kbd>`}</button>
      ${!(isDone && isLast) && html`<button id="tour-end" class="link" onClick=${stop}>${t("tour.end")}</button>`}
    </footer>
    <${Pointer} at=${PLACES[at.step][at.phase] ?? []} />
  </section>`;
}

const isTouch = matchMedia("(pointer: coarse)").matches;

/** Where there are no keys, without what is said of them: it stands in parentheses. @param {string} text */
export const withoutKeys = (text) => text.replace(/ ?\([^()]*\[[^()]*\)/g, "");

/** Keys stand in brackets, and are drawn as such. @param {string} text */
const keyed = (text) => (isTouch ? withoutKeys(text) : text).split(/\[([^\]]+)\]/).map((piece, index) => (index % 2 ? html`<kbd key=${index}>${piece}</kbd>` : piece));

/** The step's own button, where there is something that it can do for people who would rather not type. @param {{at: Tour, screen: Screen}} props */
function Act({ at, screen }) {
  /** @param {Parameters<typeof behave>[0]} change */
  const turn = (change) => void behave(change).catch(sayProblem);
  switch (`${at.step} ${at.phase}`) {
    case "1 write":
      return html`<button id="tour-do" class="is-primary" onClick=${() => void sayQuickly(screen)}>${t("play.three")}</button>`;
    case "2 ask":
      return html`<button id="tour-do" class="is-primary" onClick=${() => void screen.say(t("tour.long_question"))}>${t("tour.ask_long")}</button>`;
    case "4 choose":
      return html`<button id="tour-do" class="is-primary" onClick=${() => turn({ provider_fault: "lost_answer" })}>${t("tour.lose")}</button>
        <button id="tour-twice" onClick=${() => turn({ duplicate_webhooks: true })}>${t("tour.twice")}</button>`;
    case "4 say":
      return html`<button id="tour-do" class="is-primary" onClick=${() => void screen.say(t("tour.short_question"))}>${t("tour.ask_short")}</button>`;
    default:
      return null;
  }
}
