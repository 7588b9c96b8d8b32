// The tour as it runs: which step, what its buttons do, and how it notices by itself that a step is done.

import { effect, signal, untracked } from "../vendor/preact.js";
import { conversation } from "../state/conversations.js";
import { hear } from "../state/feed.js";
import { prefer } from "../state/preferences.js";
import { me } from "../state/session.js";
import { t } from "../words/index.js";
import { sayProblem } from "../parts/toast.js";
import { CALM, behave, behaviour } from "./behaviour.js";
import { CHANNEL, chosen, makeUp } from "./contacts.js";
import { STEPS, after, afterKnob, begin } from "./tour_steps.js";

/** @import { Signal } from "../vendor/preact.js" */
/** @import { Tour } from "./tour_steps.js" */

/** Long enough to find the key, in the step that is about pressing it. */
const SLOW_MS = 8_000;

/** Null: no tour. Kept while other pages are looked at. @type {Signal<Tour | null>} */
export const tour = signal(null);

/** Where the step that somebody was at is kept for a reload. */
const KEY = "baton.tour";

/** @param {{whose?: string, step?: Tour["step"], isDone?: boolean}} where */
function keep(where) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(where));
  } catch {
    // A browser that keeps nothing begins again.
  }
}

effect(() => {
  const at = tour.value;
  if (at) keep({ whose: me.peek()?.id, step: at.step, isDone: at.phase === "done" });
});

/** @returns {Parameters<typeof keep>[0]} */
function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

/** What would make a careless program send twice. */
const mayRepeat = () => behaviour.value?.provider_fault === "lost_answer" || behaviour.value?.duplicate_webhooks === true;

/** How it is now. @returns {import("./tour_steps.js").World} */
function world() {
  const id = chosen.peek()?.conversation;
  return { mode: (id && conversation(id).peek()?.mode) || null, isTroubled: untracked(mayRepeat) };
}

/** From the first step, with a contact of its own: nobody else's story is disturbed. */
export function start() {
  makeUp(t("tour.mei"), { replace: true });
  tour.value = begin(1, world());
  void behave(CALM).catch(sayProblem);
}

/** Continues at the step that this person was at before the page was loaded; whether there was one. */
export function resume() {
  const { whose, step, isDone } = kept();
  if (whose !== me.peek()?.id || !step || !STEPS.includes(step)) return false;
  // What happened meanwhile is not known, so a step that was not done begins as things are now.
  const at = begin(step, world());
  tour.value = isDone ? { ...at, phase: "done" } : at;
  return true;
}

/** The next step, whether this one is done or skipped. */
export function next() {
  const at = tour.peek();
  if (!at) return;
  const step = STEPS[STEPS.indexOf(at.step) + 1];
  if (!step) return stop();
  tour.value = begin(step, world());
  // Each step begins in calm; the second gives the assistant time to be stopped in.
  void behave(step === 2 ? { ...CALM, model_delay_ms: SLOW_MS } : CALM).catch(sayProblem);
}

/** Ends it, and does not begin it by itself again. */
export function stop() {
  tour.value = null;
  keep({});
  void behave(CALM).catch(sayProblem);
  void prefer({ toured: true }).catch(sayProblem);
}

/** Begins to notice; returns what ends it. */
export function follow() {
  let whose = "";
  const ends = [
    // What happened while nobody looked, or to somebody else, is not known: the step begins as things are now.
    effect(() => {
      const chat = chosen.value?.chat ?? "";
      if (chat === whose) return;
      whose = chat;
      const at = tour.peek();
      if (at && at.phase !== "done") tour.value = begin(at.step, world());
    }),
    hear((event) => {
      const at = tour.peek();
      if (at && event.channel === CHANNEL && event.conversation?.chat_id === chosen.peek()?.chat) tour.value = after(at, event, world());
    }),
    effect(() => {
      const isTroubled = mayRepeat();
      const at = tour.peek();
      if (at) tour.value = afterKnob(at, isTroubled);
    }),
  ];
  return () => ends.forEach((end) => end());
}
