// One channel: how it is, its name and credentials, what Green API must know, its own rules, and its end.

import { html, useSignal } from "../../vendor/preact.js";
import { go } from "../../state/route.js";
import { Problem, patch, remove } from "../../wire/api.js";
import { t } from "../../words/index.js";
import { useAsked, useHeard } from "../../parts/asked.js";
import { Confirm } from "../../parts/dialog.js";
import { Field, Form, Send } from "../../parts/form.js";
import { Failed } from "../listing.js";
import { problemText, say, sayProblem } from "../../parts/toast.js";
import { Brake, BrakeTag } from "./brake.js";
import { freshTokens } from "./connect.js";
import { LinkPhone, isToBeLinked } from "./link_phone.js";
import { isTokenOffered } from "./receiving.js";
import { Rules } from "./rules.js";
import { About, StateTag, StateWords, isOfChannels } from "./state.js";
import { Switches, freshToken } from "./switches.js";

/** @import * as Wire from "../../../types/wire.js" */
/** @typedef {{channel: Wire.Channel, again: () => Promise<void>}} Props */

/** @param {{name: string}} props */
export function OneChannel({ name }) {
  const { answer, problem, again } = useAsked(`/channels/${encodeURIComponent(name)}`);
  useHeard((event) => event.channel === name && isOfChannels(event), again);
  const channel = /** @type {Wire.Channel | null} */ (answer);
  const all = html`<a class="button" href="/settings/channels" data-within>${t("connect.all_channels")}</a>`;
  if (!channel) {
    return html`<header><h1>${name}</h1>${all}</header>
      ${problem?.isNotThere ? html`<p class="empty">${t("channel.gone")}</p>`
      : problem ? html`<${Failed} problem=${problem} again=${again} />`
      : html`<p class="waiting" role="status">${t("loading")}</p>`}`;
  }
  const isOfProvider = channel.provider !== "sandbox";
  return html`
    <header><h1>${channel.title || channel.name} <${StateTag} channel=${channel} /> <${BrakeTag} channel=${channel} /></h1>${all}</header>
    <p class="lead"><${About} channel=${channel} /></p>
    <div class="state-words"><${StateWords} channel=${channel} /></div>
    ${problem && html`<${Failed} problem=${problem} again=${again} />`}
    ${isToBeLinked(channel) && html`<section class="card is-split" aria-labelledby="channel-link">
      <h2 id="channel-link">${t("link.title")}</h2>
      <${LinkPhone} channel=${channel} />
    </section>`}
    <${Brake} channel=${channel} again=${again} />
    <${Title} channel=${channel} again=${again} />
    ${isOfProvider && html`<${Credentials} channel=${channel} again=${again} /><${Webhooks} channel=${channel} again=${again} />`}
    <${Rules} channel=${channel} again=${again} />
    ${isOfProvider && html`<${Removal} channel=${channel} />`}`;
}

/** @param {Props} props */
function Title({ channel, again }) {
  /** @param {FormData} given */
  async function send(given) {
    await patch(`/channels/${channel.name}`, { title: String(given.get("title")).trim() || null });
    say(t("saved"));
    void again();
  }
  return html`<section class="card is-split" aria-labelledby="channel-title">
    <h2 id="channel-title">${t("channel.title")}</h2>
    <${Form} onSend=${send}>
      <${Field} name="title" label=${t("connect.name_for_people")} hint=${t("channel.title_hint")} initial=${channel.title} maxlength="200" autocomplete="off" />
      <footer><${Send}>${t("save")}</${Send}></footer>
    </${Form}>
  </section>`;
}

/** @param {Props} props */
function Credentials({ channel, again }) {
  /** @param {FormData} given @param {HTMLFormElement} form */
  async function send(given, form) {
    const text = (/** @type {string} */ field) => String(given.get(field) ?? "").trim();
    const url = text("api_url").replace(/\/+$/, "") || null;
    const change = {
      ...(text("instance") !== channel.instance && { instance: text("instance") }),
      ...(url !== channel.api_url && { api_url: url }),
      ...(text("token") && { token: text("token") }),
    };
    await patch(`/channels/${channel.name}`, change);
    const token = form.elements.namedItem("token");
    if (token instanceof HTMLInputElement) token.value = "";
    say(t("saved"));
    void again();
  }
  return html`<section class="card is-split" aria-labelledby="channel-credentials">
    <h2 id="channel-credentials">${t("channel.credentials")}</h2>
    ${channel.managed_by === "environment" ? html`<p>${t("channel.from_environment")}</p>` : html`<${Form} onSend=${send}>
      <${Field} name="instance" label="idInstance" initial=${channel.instance} required inputmode="numeric" pattern="\\s*[0-9]{1,20}\\s*" autocomplete="off" spellcheck=${false} />
      <${Field} name="token" label="apiTokenInstance" type="password" hint=${t("channel.token_hint")} maxlength="200" autocomplete="off" />
      <${Field} name="api_url" label="apiUrl" type="url" hint=${t("channel.api_url_hint")} initial=${channel.api_url} maxlength="200" autocomplete="off" />
      <footer><${Send}>${t("save")}</${Send}></footer>
    </${Form}>`}
  </section>`;
}

/** @param {Props} props */
function Webhooks({ channel, again }) {
  const settings = useAsked("/settings");
  const isAsked = useSignal(false);
  async function renew() {
    const token = freshToken();
    try {
      await patch(`/channels/${channel.name}`, { webhook_token: token });
      freshTokens.value = { ...freshTokens.peek(), [channel.name]: token };
      await again();
    } catch (error) {
      sayProblem(error);
    }
  }
  return html`<section class="card is-split" aria-labelledby="channel-webhooks">
    <h2 id="channel-webhooks">${t("channel.webhooks")}</h2>
    <${Switches} channel=${channel} token=${freshTokens.value[channel.name] ?? null} settings=${settings} />
    ${isTokenOffered(channel, settings.answer) && html`<p><button onClick=${() => (isAsked.value = true)}>${t("channel.new_token")}</button></p>`}
    ${isAsked.value && html`<${Confirm} title=${t("channel.new_token")} text=${t("channel.new_token_text")} verb=${t("channel.new_token_yes")}
      onYes=${() => void renew()} onClose=${() => (isAsked.value = false)} />`}
  </section>`;
}

/** @param {{channel: Wire.Channel}} props */
function Removal({ channel }) {
  const isAsked = useSignal(false);
  const refusal = useSignal("");
  async function leave() {
    try {
      await remove(`/channels/${channel.name}`);
      say(t("removed", { what: channel.title || channel.name }));
      go("/settings/channels");
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      refusal.value = error.status === 409 ? t("channel.remove_refused") : problemText(error);
    }
  }
  if (channel.managed_by === "environment") return null;
  return html`<section class="card is-split" aria-labelledby="channel-removal">
    <h2 id="channel-removal">${t("remove")}</h2>
    <p>${t("channel.remove_text")}</p>
    <p class="problem" role="alert">${refusal.value}</p>
    <p><button class="is-danger" onClick=${() => (isAsked.value = true)}>${t("channel.remove")}</button></p>
    ${isAsked.value && html`<${Confirm} title=${t("remove.what", { what: channel.title || channel.name })} text=${t("channel.remove_confirm")} verb=${t("remove")}
      onYes=${() => void leave()} onClose=${() => (isAsked.value = false)} />`}
  </section>`;
}
