// The playground: a phone beside the inbox. On one side the contact's phone, on the other the same conversation as an agent
// has it; beside both what Baton decided, and what can be made to go wrong.

import { html, useEffect, useMemo, useSignal } from "../vendor/preact.js";
import { preferences } from "../state/preferences.js";
import { seesAllOf } from "../state/session.js";
import { t } from "../words/index.js";
import { problemText } from "../parts/toast.js";
import { Agent } from "./agent.js";
import { behaviour, isTroubled, loadBehaviour, sandboxProblem } from "./behaviour.js";
import { CHANNEL, chosen, follow as followContacts, isListed, loadContacts, makeUp } from "./contacts.js";
import { Decisions } from "./decisions.js";
import { Knobs } from "./knobs.js";
import { OwnPhone } from "./own_phone.js";
import { Phone } from "./phone.js";
import { openScreen } from "./screen.js";
import { Panel, Tabs, useNarrow } from "./tabs.js";
import { TourCard } from "./tour.js";
import { follow as followTour, resume, start, tour } from "./tour_run.js";

/** @import { Contact } from "./contacts.js" */
/** @import { Place } from "./tabs.js" */

export function Playground() {
  useEffect(() => {
    void loadBehaviour();
    const ends = [followContacts(), followTour()];
    return () => ends.forEach((end) => end());
  }, []);
  const isThere = behaviour.value !== null && isListed.value;
  // The first visit is shown round, also over a reload; and there is always somebody to be played.
  useEffect(() => {
    if (!isThere || tour.peek() || resume()) return;
    if (!preferences.peek().toured) start();
    else if (!chosen.peek()) makeUp(t("tour.mei"), { replace: true });
  }, [isThere]);

  if (sandboxProblem.value) return html`<${Absent} />`;
  if (!isThere || !chosen.value) return html`<p class="waiting" role="status">${t("loading")}</p>`;
  return html`<${Played} contact=${chosen.value} />`;
}

/** @param {{contact: Contact}} props */
function Played({ contact }) {
  const isNarrow = useNarrow();
  const place = useSignal(/** @type {Place} */ ("phone"));
  const screen = useMemo(() => openScreen(contact.chat, contact.name), [contact.chat]);
  useEffect(() => screen.close, [screen]);
  /** @type {{place: Place, words: string, isMarked?: boolean}[]} */
  const tabs = [
    { place: "phone", words: t("play.tab_phone") },
    { place: "agent", words: t("play.tab_agent") },
    { place: "decisions", words: t("play.tab_decisions") },
    { place: "knobs", words: t("play.tab_knobs"), isMarked: isTroubled.value },
  ];
  const given = { isNarrow, shown: place.value };
  return html`<div class="play ${tour.value ? "is-toured" : ""}">
    <header class="play-head">
      <h1>${t("nav.playground")}</h1>
      <p class="hint">${t("play.lead")}</p>
      ${!tour.value && html`<button id="play-tour-start" onClick=${start}>${t("tour.start")}</button>`}
    </header>
    ${tour.value && html`<${TourCard} screen=${screen} />`}
    ${isNarrow && html`<${Tabs} tabs=${tabs} shown=${place.value} onShow=${(/** @type {Place} */ to) => (place.value = to)} />`}
    <div class="play-panels">
      <${Panel} place="phone" ...${given}>
        <${Phone} contact=${contact} screen=${screen} />
        <${OwnPhone} contact=${contact} screen=${screen} />
      </${Panel}>
      <${Panel} place="agent" ...${given}><${Agent} contact=${contact} /></${Panel}>
      <${Panel} place="decisions" ...${given}><${Decisions} contact=${contact} /></${Panel}>
      <${Panel} place="knobs" ...${given}><${Knobs} /></${Panel}>
    </div>
  </div>`;
}

/** No sandbox: why, and what to do about it. */
function Absent() {
  const problem = sandboxProblem.value;
  // To whoever does not have the channel the server says no more than that it is not there.
  const isMine = seesAllOf([CHANNEL]);
  if (problem?.isNotThere) {
    return html`<div class="sheet"><header><h1>${t("nav.playground")}</h1></header>
      <div class="card empty">
        <h2>${isMine ? t("play.off") : t("play.not_yours")}</h2>
        <p>${t("play.off_what")}</p>
        ${isMine && html`<p>${t("play.off_how")} <code>BATON_SANDBOX=on baton serve</code></p>
          <p>${t("play.off_demo")} <code>baton demo</code></p>`}
        <p>${t("play.off_channel")}</p>
      </div>
    </div>`;
  }
  return html`<div class="empty" role="alert">
    <p class="problem">${problem && problemText(problem)}</p>
    <button onClick=${() => {
      sandboxProblem.value = null;
      void loadBehaviour();
      void loadContacts();
    }}>${t("retry")}</button>
  </div>`;
}
