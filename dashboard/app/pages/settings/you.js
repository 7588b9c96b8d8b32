// You: what others see of you, how you come in, and how the dashboard is for you.

import { html } from "../../vendor/preact.js";
import { prefer, preferences } from "../../state/preferences.js";
import { go, route } from "../../state/route.js";
import { me, signOut } from "../../state/session.js";
import { patch } from "../../wire/api.js";
import { LANGUAGES, installation, t, word } from "../../words/index.js";
import { Field, Form, OneOf, Send, Tick } from "../../parts/form.js";
import { Icon } from "../../parts/icon.js";
import { say, sayProblem } from "../../parts/toast.js";
import { channelWords } from "./channels_field.js";
import { Notifications } from "./notifications.js";

/** Who has just come in by a link may have no password, and would be shut out when the session ends. */
const isFirst = () => route.value.query.has("first");

export function You() {
  const who = me.value;
  if (!who) return null;
  const own = [html`<${Profile} key="profile" who=${who} />`, html`<${SigningIn} key="signing-in" who=${who} />`];
  return html`
    <header><h1>${t("settings.you")}</h1></header>
    ${who.email ? (isFirst() ? own.reverse() : own) : html`<p class="card hint">${t("you.is_token", { name: who.name })}</p>`}
    <${Look} />
    <${Working} />
    ${who.email && html`<p class="sign-out"><button onClick=${() => void signOut().then(() => go("/sign-in"), sayProblem)}><${Icon} name="out" /> ${t("sign_out")}</button></p>`}`;
}

/** @param {{who: import("../../../types/wire.js").Me}} props */
function Profile({ who }) {
  /** @param {FormData} given */
  async function send(given) {
    me.value = await patch("/me", { name: given.get("name") });
    say(t("saved"));
  }
  return html`<section class="card is-split" aria-labelledby="you-profile">
    <h2 id="you-profile">${t("you.profile")}</h2>
    <${Form} onSend=${send}>
      <dl class="facts">
        <div><dt>${t("role")}</dt><dd>${word("role", who.role)}</dd></div>
        <div><dt>${t("channels")}</dt><dd>${channelWords(who.channels)}</dd></div>
      </dl>
      <${Field} name="name" label=${t("you.name")} hint=${t("you.name_hint")} initial=${who.name} required maxlength="100" autocomplete="name" />
      <footer><${Send}>${t("save")}</${Send}></footer>
    </${Form}>
  </section>`;
}

/** @param {{who: import("../../../types/wire.js").Me}} props */
function SigningIn({ who }) {
  /** @param {FormData} given @param {HTMLFormElement} form */
  async function send(given, form) {
    const text = (/** @type {string} */ name) => String(given.get(name) ?? "");
    const email = text("email").trim();
    const change = { ...(email !== who.email && { email }), ...(text("password") && { password: text("password") }) };
    if (Object.keys(change).length === 0) return say(t("rules.unchanged"));
    me.value = await patch("/me", { ...change, ...(text("current_password") && { current_password: text("current_password") }) });
    for (const name of ["password", "current_password"]) {
      const field = form.elements.namedItem(name);
      if (field instanceof HTMLInputElement) field.value = "";
    }
    say(t(change.password ? "you.password_set" : "saved"));
    if (isFirst() && change.password) go("/settings/you", { replace: true });
  }
  return html`<section class="card is-split ${isFirst() ? "is-urged" : ""}" aria-labelledby="you-signing-in">
    <h2 id="you-signing-in">${t("you.signing_in")}</h2>
    ${isFirst() && html`<p class="urged" role="status">${t("you.first_time")}</p>`}
    <${Form} onSend=${send} words=${(/** @type {import("../../wire/api.js").Problem} */ problem) => (problem.status === 409 ? t("people.taken") : null)}>
      <${Field} name="email" type="email" label=${t("sign_in.email")} hint=${t("people.email_hint")} initial=${who.email} required maxlength="254" autocomplete="username" />
      <${Field} name="password" type="password" label=${t("you.password_new")} hint=${t(isFirst() ? "you.password_first_hint" : "you.password_new_hint")}
        required=${isFirst()} minlength="8" maxlength="200" autocomplete="new-password" />
      ${!isFirst() && html`<${Field} name="current_password" type="password" label=${t("you.password_now")} hint=${t("you.password_now_hint")}
        autocomplete="current-password" maxlength="200" />`}
      <footer><${Send}>${t(isFirst() ? "you.password_set_it" : "save")}</${Send}></footer>
    </${Form}>
  </section>`;
}

/** Keeps a liking, and says so only if it could not be kept. @param {Partial<import("../../state/preferences.js").Preferences>} change */
const like = (change) => void prefer(change).catch(sayProblem);

function Look() {
  const { theme, language } = preferences.value;
  const themes = [
    { value: "system", words: t("you.theme_system") },
    { value: "light", words: t("you.theme_light") },
    { value: "dark", words: t("you.theme_dark") },
  ];
  const languages = [
    { value: "", words: installation ? t("you.language_installation", { name: LANGUAGES[installation]?.name ?? installation }) : t("you.language_browser") },
    ...Object.entries(LANGUAGES).map(([value, { name }]) => ({ value, words: name })),
  ];
  return html`<section class="card is-split" aria-labelledby="you-look">
    <h2 id="you-look">${t("you.look")}</h2>
    <div class="form">
      <${OneOf} name="theme" label=${t("you.theme")} options=${themes} value=${theme} onChoose=${(/** @type {any} */ value) => like({ theme: value })} />
      <${Field} name="language" label=${t("you.language")} options=${languages} initial=${language ?? ""}
        onChange=${(/** @type {any} */ event) => like({ language: event.target.value || null })} />
    </div>
  </section>`;
}

function Working() {
  const { enterSends, keys, sound } = preferences.value;
  return html`<section class="card is-split" aria-labelledby="you-working">
    <h2 id="you-working">${t("you.working")}</h2>
    <div class="form">
      <${Tick} label=${t("you.enter_sends")} hint=${t(enterSends ? "you.enter_sends_on" : "you.enter_sends_off")} checked=${enterSends}
        onChange=${(/** @type {any} */ event) => like({ enterSends: event.target.checked })} />
      <${Tick} label=${t("you.keys")} hint=${t("you.keys_hint")} checked=${keys}
        onChange=${(/** @type {any} */ event) => like({ keys: event.target.checked })} />
      <${Tick} label=${t("you.sound")} hint=${t("you.sound_hint")} checked=${sound}
        onChange=${(/** @type {any} */ event) => like({ sound: event.target.checked })} />
      <${Notifications} />
    </div>
  </section>`;
}
