// Connect a Green API number, step by step: what to do there, what to paste here, what to set there, and whether it works.

import { html, signal, useRef, useSignal } from "../../vendor/preact.js";
import { go } from "../../state/route.js";
import { post } from "../../wire/api.js";
import { uuid } from "../../wire/random.js";
import { t } from "../../words/index.js";
import { useAsked, useHeard } from "../../parts/asked.js";
import { Field, Form, Send } from "../../parts/form.js";
import { Icon } from "../../parts/icon.js";
import { Failed } from "../listing.js";
import { Arrival } from "./arrival.js";
import { isFetched } from "./receiving.js";
import { StateWords, isOfChannels, isRefused } from "./state.js";
import { Switches, freshToken } from "./switches.js";

/** @import * as Wire from "../../../types/wire.js" */

/** Tokens that were made on this page, by channel: shown until it is left, and nowhere kept. */
export const freshTokens = signal(/** @type {Record<string, string>} */ ({}));

/** @param {{name: string | null}} props the channel, once there is one */
export function Connect({ name }) {
  const settings = useAsked("/settings");
  const channel = useAsked(name && `/channels/${name}`);
  useHeard((event) => name !== null && event.channel === name && isOfChannels(event), channel.again);
  const set = t(isFetched(settings.answer) ? "connect.set_fetched" : "connect.set");
  return html`
    <header><h1>${t("connect.title")}</h1><a class="button" href="/settings/channels" data-within>${t("connect.all_channels")}</a></header>
    <ol class="steps">
      <${Step} number=${1} title=${t("connect.there")} isDone=${name !== null}>
        <p>${t("connect.there_text")}</p>
        <p><a class="button" href="https://console.green-api.com" target="_blank" rel="noreferrer"><${Icon} name="link" /> ${t("connect.console")}</a></p>
      </${Step}>
      ${name === null ? html`<${Step} number=${2} title=${t("connect.here")}><${Credentials} /></${Step}>` : html`<${Given} name=${name} channel=${channel.answer} />`}
      ${name === null
        ? html`<${Step} number=${3} title=${set} isLater /><${Step} number=${4} title=${t("connect.try")} isLater />`
        : html`<${Rest} name=${name} set=${set} asked=${channel} settings=${settings} />`}
    </ol>`;
}

/** @param {{number: number, title: string, isDone?: boolean, isLater?: boolean, children?: any}} props */
function Step({ number, title, isDone, isLater, children }) {
  return html`<li class="card step ${isDone ? "is-done" : ""} ${isLater ? "is-later" : ""}">
    <span class="mark" aria-hidden="true">${isDone ? html`<${Icon} name="check" />` : number}</span>
    <div><h2>${title}${isDone && html` <span class="unseen">(${t("done")})</span>`}</h2>${children}</div>
  </li>`;
}

/** A name that the API takes, made of a title. @param {string} title */
const named = (title) => title.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "").replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 40);

function Credentials() {
  const name = useSignal("");
  const isOwnName = useSignal(false);
  /** The same form sent again, after an answer that was lost, makes one channel. */
  const made = useRef({ key: uuid(), token: freshToken() });

  /** @param {FormData} given */
  async function send(given) {
    const text = (/** @type {string} */ field) => String(given.get(field) ?? "").trim();
    const { key, token } = made.current;
    /** @type {Wire.Channel} */
    const channel = await post("/channels", {
      name: text("name"),
      provider: "green_api",
      instance: text("instance"),
      token: text("token"),
      webhook_token: token,
      ...(text("title") && { title: text("title") }),
      ...(text("api_url") && { api_url: text("api_url").replace(/\/+$/, "") }),
    }, { key });
    freshTokens.value = { ...freshTokens.peek(), [channel.name]: token };
    go(`/settings/connect/${channel.name}`, { replace: true });
  }
  /** A changed form is another request. */
  const renew = () => (made.current = { key: uuid(), token: freshToken() });
  return html`<div onInput=${renew}>
    <${Form} onSend=${send} words=${(/** @type {import("../../wire/api.js").Problem} */ problem) => (problem.code === "name_taken" ? t("connect.taken") : null)}>
      <${Field} name="title" label=${t("connect.name_for_people")} hint=${t("connect.name_for_people_hint")} maxlength="200" autocomplete="off"
        onInput=${(/** @type {any} */ event) => !isOwnName.peek() && (name.value = named(event.target.value))} />
      <${Field} name="name" label=${t("connect.short_name")} hint=${t("connect.short_name_hint")} required pattern="[a-z0-9\\-]{1,40}" maxlength="40" autocomplete="off" spellcheck=${false}
        value=${name.value} onInput=${(/** @type {any} */ event) => ((isOwnName.value = true), (name.value = event.target.value))} />
      <${Field} name="instance" label="idInstance" required inputmode="numeric" pattern="\\s*[0-9]{1,20}\\s*" autocomplete="off" spellcheck=${false} hint=${t("connect.instance_hint")} />
      <${Field} name="token" label="apiTokenInstance" type="password" required maxlength="200" autocomplete="off" hint=${t("connect.token_hint")} />
      <${Field} name="api_url" label="apiUrl" type="url" maxlength="200" autocomplete="off" hint=${t("channel.api_url_hint")} placeholder=${t("connect.api_url_sample")} />
      <footer><${Send}>${t("connect.create")}</${Send}></footer>
    </${Form}>
  </div>`;
}

/** What was pasted: done, unless Green API refuses it. @param {{name: string, channel: Wire.Channel | null}} props */
export function Given({ name, channel }) {
  const isWrong = isRefused(channel);
  return html`<${Step} number=${2} title=${t("connect.here")} isDone=${!isWrong}>
    ${isWrong
      ? html`<div class="urged is-warn" role="alert"><${StateWords} channel=${channel} /></div>
        <p><a class="button" href="/settings/channels/${name}" data-within>${t("channel.credentials")}</a></p>`
      : html`<p>${t("connect.here_done", { name })}</p>`}
  </${Step}>`;
}

/** @param {{name: string, set: string, asked: import("./switches.js").Asked, settings: import("./switches.js").Asked}} props */
function Rest({ name, set, asked, settings }) {
  const { answer, problem, again } = asked;
  if (!answer) return problem && html`<li><${Failed} problem=${problem} again=${again} /></li>`;
  return html`
    <${Step} number=${3} title=${set}>
      <p>${t("connect.set_text")}</p>
      <${Switches} channel=${answer} token=${freshTokens.value[name] ?? null} settings=${settings} />
    </${Step}>
    <${Step} number=${4} title=${t("connect.try")}>
      <p>${t("connect.try_text")}</p>
      <${Arrival} channel=${answer} isFetched=${isFetched(settings.answer)} />
      <p><a class="button" href="/settings/channels/${name}" data-within>${t("connect.to_channel")}</a></p>
    </${Step}>`;
}
