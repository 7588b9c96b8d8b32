// The contact's phone: who is played, what they see, and what they write.

import { html, useEffect, useLayoutEffect, useRef, useSignal } from "../vendor/preact.js";
import { clock, moment, t } from "../words/index.js";
import { Icon } from "../parts/icon.js";
import { isComposing } from "../parts/keys.js";
import { problemText } from "../parts/toast.js";
import { Picker } from "./picker.js";
import { sayQuickly } from "./quickly.js";

/** @import { Contact } from "./contacts.js" */
/** @import { Bubble, Owed, Screen } from "./screen.js" */

/** A reader who has scrolled up is left there. */
const NEAR_PX = 80;

/** @param {{contact: Contact, screen: Screen}} props */
export function Phone({ contact, screen }) {
  return html`<section class="phone" aria-label=${t("play.phone_of", { name: contact.name })}>
    <${Picker} contact=${contact} />
    <div class="phone-screen">
      <header>
        <span class="avatar phone-shop" aria-hidden="true"><${Icon} name="inbox" /></span>
        <div>
          <h2>${t("play.shop")}</h2>
          <p class="hint" id="play-typing" role="status">${screen.typing.value ? t("play.typing") : t("play.online")}</p>
        </div>
      </header>
      <${Bubbles} contact=${contact} screen=${screen} />
      <${Writing} contact=${contact} screen=${screen} />
    </div>
  </section>`;
}

/** @param {{contact: Contact, screen: Screen}} props */
function Bubbles({ contact, screen }) {
  const log = useRef(/** @type {HTMLElement | null} */ (null));
  const isAtEnd = useRef(true);
  const bubbles = screen.bubbles.value;
  const owed = screen.owed.value;
  useLayoutEffect(() => {
    if (log.current && isAtEnd.current) log.current.scrollTop = log.current.scrollHeight;
  }, [bubbles, owed, screen.typing.value]);

  function scrolled() {
    const it = log.current;
    if (it) isAtEnd.current = it.scrollHeight - it.scrollTop - it.clientHeight < NEAR_PX;
  }
  const lastOwn = bubbles.findLast(({ author }) => author === "contact");
  return html`<div class="phone-log" id="play-log" role="log" aria-label=${t("play.messages_of", { name: contact.name })} tabindex="0"
      ref=${log} onScroll=${scrolled}>
    ${screen.problem.value && html`<p class="problem">${problemText(screen.problem.value)}
      <button class="link" onClick=${screen.look}>${t("retry")}</button></p>`}
    ${screen.isLoaded.value && bubbles.length + owed.length === 0 && html`<p class="hint phone-empty">
      ${contact.conversation ? t("play.phone_forgot") : t("play.phone_empty", { name: contact.name })}</p>`}
    ${bubbles.map((it) => html`<${Said} key=${it.id} it=${it} isLast=${it === lastOwn} />`)}
    ${owed.map((it) => html`<${Saying} key=${it.id} it=${it} screen=${screen} />`)}
    ${screen.typing.value && html`<p class="bubble is-typing" aria-hidden="true"><i></i><i></i><i></i></p>`}
  </div>`;
}

/** @param {{it: Bubble, isLast: boolean}} props */
function Said({ it, isLast }) {
  const isOwn = it.author === "contact";
  const tick = { sent: t("play.tick_sent"), delivered: t("play.tick_delivered"), read: t("play.tick_read") }[it.status];
  return html`<div class="bubble ${isOwn ? "is-own" : ""}">
    <p><span class="unseen">${isOwn ? t("play.says_contact") : t("play.says_shop")} </span>${it.text}</p>
    <small><time datetime=${it.at} title=${moment(it.at)}>${clock(it.at)}</time>
      ${isOwn && html`<span class="tick is-${it.status}" title=${tick}>
        <${Icon} name=${it.status === "sent" ? "check" : "checks"} label=${isLast ? undefined : tick} />${isLast && tick}
      </span>`}
    </small>
  </div>`;
}

/** @param {{it: Owed, screen: Screen}} props */
function Saying({ it, screen }) {
  return html`<div class="bubble is-own is-owed">
    <p>${it.text}</p>
    <small>${it.problem
      ? html`<span class="problem">${problemText(it.problem)}</span> <button class="link" onClick=${() => screen.bring(it)}>${t("retry")}</button>`
      : t("play.on_its_way")}</small>
  </div>`;
}

/** @param {{contact: Contact, screen: Screen}} props */
function Writing({ contact, screen }) {
  const text = useSignal("");
  const isQuick = useSignal(false);
  useEffect(() => {
    text.value = "";
  }, [contact.chat]);

  /** @param {SubmitEvent} event */
  function submit(event) {
    event.preventDefault();
    const words = text.peek().trim();
    if (!words) return;
    void screen.say(words);
    text.value = "";
  }
  async function quickly() {
    isQuick.value = true;
    await sayQuickly(screen);
    isQuick.value = false;
  }
  return html`<footer>
    <button id="play-three" class="phone-quick" disabled=${isQuick.value} onClick=${quickly}>
      <${Icon} name="send" />${isQuick.value ? t("play.three_going") : t("play.three")}
    </button>
    <form onSubmit=${submit}>
      <input id="play-text" aria-label=${t("play.write_as", { name: contact.name })} placeholder=${t("play.write_as", { name: contact.name })}
        autocomplete="off" maxlength="4000" value=${text.value}
        onInput=${(/** @type {any} */ event) => (text.value = event.target.value)}
        onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && !isComposing(event) && /** @type {HTMLElement} */ (event.target).blur()} />
      <button class="is-primary" id="play-send" aria-label=${t("play.send")} title=${t("play.send")}><${Icon} name="send" /></button>
    </form>
  </footer>`;
}

