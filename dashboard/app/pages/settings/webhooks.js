// Webhooks: which programs outside receive events. A secret is shown once, when it is made.

import { html, useSignal } from "../../vendor/preact.js";
import { patch, post, remove } from "../../wire/api.js";
import { uuid } from "../../wire/random.js";
import { t, word } from "../../words/index.js";
import { Ago } from "../ago.js";
import { useHeard, useListed, useOnItsWay } from "../../parts/asked.js";
import { Copyable } from "../../parts/copy.js";
import { Confirm, Dialog } from "../../parts/dialog.js";
import { Field, Form, Send } from "../../parts/form.js";
import { Icon } from "../../parts/icon.js";
import { Listing, Table } from "../listing.js";
import { say, sayProblem } from "../../parts/toast.js";
import { changed } from "../changed.js";
import { ChannelsField, channelWords, channelsOf } from "./channels_field.js";
import { Deliveries, outcomeOf } from "./deliveries.js";

/** @import * as Wire from "../../../types/wire.js" */
/** @template T @typedef {import("../../vendor/preact.js").Signal<T>} Signal */

const ALL = "*";

/** @param {Wire.Endpoint} endpoint */
const path = (endpoint) => `/webhook-endpoints/${endpoint.id}`;

/** Where it is, without what may be a secret. @param {Wire.Endpoint} endpoint */
function placeOf({ url }) {
  const { host, pathname } = new URL(url);
  return host + (pathname === "/" ? "" : pathname);
}

/** Broken into lines before a slash rather than within a word. @param {string} place */
const broken = (place) => place.split(/(?=\/)/).map((piece) => html`<wbr />${piece}`);

/** What it is called: what it is for, or where it is. @param {Wire.Endpoint} endpoint */
const nameOf = (endpoint) => endpoint.description || placeOf(endpoint);

export function Webhooks() {
  /** @type {import("../../parts/asked.js").Listed<Wire.Endpoint>} */
  const listed = useListed("/webhook-endpoints");
  /** @type {Signal<Wire.Endpoint | "new" | null>} */
  const edited = useSignal(null);
  /** @type {Signal<Wire.Endpoint | null>} */
  const logged = useSignal(null);
  /** What was just made. @type {Signal<{title: string, secret: string} | null>} */
  const shown = useSignal(null);
  // What endpoints receive follows what happens.
  useHeard(() => true, listed.again);
  useOnItsWay(listed.items?.some((it) => it.state === "active" && it.waiting > 0) ?? false, listed.again);

  /** @param {Wire.Endpoint} endpoint @param {"active" | "paused"} state */
  async function set(endpoint, state) {
    await patch(path(endpoint), { state }).then(() => say(t(state === "active" ? "webhooks.resumed" : "webhooks.paused", { name: nameOf(endpoint) })), sayProblem);
    await listed.again();
  }

  /** @param {Wire.Endpoint} endpoint */
  async function test(endpoint) {
    try {
      /** @type {Wire.WebhookDelivery} */
      const tested = await post(`${path(endpoint)}/test`);
      say(t("webhooks.tested", { name: nameOf(endpoint), outcome: outcomeOf(tested) }));
    } catch (error) {
      sayProblem(error);
    }
    await listed.again();
  }
  return html`
    <header>
      <h1>${t("settings.webhooks")}</h1>
      ${!listed.problem?.isNotThere && html`<button class="is-primary" onClick=${() => (edited.value = "new")}><${Icon} name="plus" /> ${t("webhooks.make")}</button>`}
    </header>
    <p class="lead">${t("webhooks.lead")}</p>
    <${Listing} listed=${listed} empty=${t("webhooks.empty")} missing=${t("webhooks.missing")}>
      ${(/** @type {Wire.Endpoint[]} */ items) => html`<${Table} label=${t("settings.webhooks")} items=${items} id=${(/** @type {Wire.Endpoint} */ it) => it.id}
        look=${(/** @type {Wire.Endpoint} */ it) => (it.state === "active" ? "" : "is-off")} columns=${[...columns(), actions()]} />`}
    </${Listing}>
    ${edited.value && html`<${EndpointForm} endpoint=${edited.value === "new" ? null : edited.value} onChanged=${listed.again}
      onSecret=${(/** @type {{title: string, secret: string}} */ made) => (shown.value = made)} onClose=${() => (edited.value = null)} />`}
    ${logged.value && html`<${Deliveries} title=${t("webhooks.log.which", { name: nameOf(logged.value) })} path=${path(logged.value)} onClose=${() => (logged.value = null)} />`}
    ${shown.value && html`<${FreshSecret} ...${shown.value} onClose=${() => (shown.value = null)} />`}`;

  /** @returns {import("../listing.js").Column<Wire.Endpoint>} */
  function actions() {
    return {
      words: t("actions"),
      look: "is-actions is-whole",
      cell: (it) => html`
        <button onClick=${() => (logged.value = it)} aria-label=${t("webhooks.log.which", { name: nameOf(it) })}>${t("webhooks.log")}</button>
        <button onClick=${() => void test(it)} aria-label=${t("webhooks.test.which", { name: nameOf(it) })}>${t("webhooks.test")}</button>
        ${it.state === "active"
          ? html`<button onClick=${() => void set(it, "paused")} aria-label=${t("webhooks.pause.which", { name: nameOf(it) })}>${t("webhooks.pause")}</button>`
          : html`<button onClick=${() => void set(it, "active")} aria-label=${t("webhooks.resume.which", { name: nameOf(it) })}>${t("webhooks.resume")}</button>`}
        <button onClick=${() => (edited.value = it)} aria-label=${t("edit.what", { what: nameOf(it) })}>${t("edit")}</button>`,
    };
  }
}

/** @returns {import("../listing.js").Column<Wire.Endpoint>[]} */
export function columns() {
  return [
    { words: t("webhooks.endpoint"), isHead: true, look: "is-whole", cell: (it) => html`<div>${broken(nameOf(it))}${it.description && html`<div class="hint">${broken(placeOf(it))}</div>`}</div>` },
    { words: t("webhooks.events"), look: "is-whole", cell: (it) => (it.events[0] === ALL ? t("webhooks.events_all") : it.events.join(", ")) },
    { words: t("channels"), look: "is-whole", cell: (it) => channelWords(it.channels) },
    { words: t("webhooks.state"), cell: (it) => html`<${State} endpoint=${it} />` },
    { words: t("webhooks.last"), look: "is-whole", cell: (it) => (it.last_delivery ? html`<div>${outcomeOf(it.last_delivery)}<div class="hint"><${Ago} at=${it.last_delivery.last_attempt_at} /></div></div>` : html`<span class="soft">${t("none")}</span>`) },
  ];
}

/** @param {{endpoint: Wire.Endpoint}} props */
function State({ endpoint }) {
  const { state, disabled_reason: reason, failing_since: since, waiting } = endpoint;
  return html`<div>
    <span class="tag ${state === "disabled" ? "is-bad" : state === "paused" ? "is-warn" : ""}">${word("endpoint_state", state)}</span>
    ${reason && html`<div class="hint">${word("disabled_reason", reason)}</div>`}
    ${state === "active" && since && html`<div class="hint">${t("webhooks.failing")} <${Ago} at=${since} /></div>`}
    ${waiting > 0 && html`<div class="hint">${t("webhooks.waiting", { count: waiting })}</div>`}
  </div>`;
}

/**
 * Without an endpoint, one is made.
 * @param {{endpoint: Wire.Endpoint | null, onChanged: () => void, onSecret: (made: {title: string, secret: string}) => void, onClose: () => void}} props
 */
function EndpointForm({ endpoint, onChanged, onSecret, onClose }) {
  /** What is asked before it is done. @type {Signal<"remove" | "rotate" | null>} */
  const asked = useSignal(null);

  /** @param {FormData} given */
  async function send(given) {
    const events = String(given.get("events")).split(/[\s,]+/).filter(Boolean);
    const body = {
      url: given.get("url"),
      description: given.get("description") || null,
      events: events.length ? events : [ALL],
      channels: channelsOf(given),
    };
    if (endpoint) await patch(path(endpoint), changed(body, endpoint));
    else onSecret({ title: t("webhooks.made_now"), secret: (await post("/webhook-endpoints", body, { key: uuid() })).secret });
    if (endpoint) say(t("saved"));
    onChanged();
    onClose();
  }

  /** @param {Wire.Endpoint} it */
  async function rotate(it) {
    await post(`${path(it)}/rotate-secret`, undefined, { key: uuid() })
      .then(({ secret }) => onSecret({ title: t("webhooks.rotated_now"), secret }), sayProblem);
    onClose();
  }

  /** @param {Wire.Endpoint} it */
  async function drop(it) {
    await remove(path(it)).then(() => say(t("removed", { what: nameOf(it) })), sayProblem);
    onChanged();
    onClose();
  }
  // A dialog for each: the browser shows the newest above the others.
  if (endpoint && asked.value === "remove") {
    return html`<${Confirm} title=${t("remove.what", { what: nameOf(endpoint) })} text=${t("webhooks.remove_text")} verb=${t("remove")}
      onYes=${() => void drop(endpoint)} onClose=${() => (asked.value = null)} />`;
  }
  if (endpoint && asked.value === "rotate") {
    return html`<${Confirm} title=${t("webhooks.rotate")} text=${t("webhooks.rotate_text")} verb=${t("webhooks.rotate")}
      onYes=${() => void rotate(endpoint)} onClose=${() => (asked.value = null)} />`;
  }
  const chosen = endpoint && endpoint.events[0] !== ALL ? endpoint.events.join(", ") : "";
  return html`<${Dialog} title=${endpoint ? t("edit.what", { what: nameOf(endpoint) }) : t("webhooks.make")} onClose=${onClose}>
    <${Form} onSend=${send}>
      <${Field} name="url" type="url" label=${t("webhooks.url")} hint=${t("webhooks.url_hint")} initial=${endpoint?.url} autofocus required maxlength="2000" autocomplete="off" />
      <${Field} name="description" label=${t("webhooks.description")} hint=${t("webhooks.description_hint")} initial=${endpoint?.description} maxlength="200" autocomplete="off" />
      <${Field} name="events" label=${t("webhooks.events")} hint=${t("webhooks.events_hint")} initial=${chosen} lines=${2} autocomplete="off" />
      <${ChannelsField} initial=${endpoint?.channels ?? null} hint=${t("webhooks.channels_hint")} />
      ${endpoint && html`<p class="entry-acts">
        <button type="button" onClick=${() => (asked.value = "rotate")}><${Icon} name="key" /> ${t("webhooks.rotate")}</button>
        <button type="button" onClick=${() => (asked.value = "remove")}><${Icon} name="trash" /> ${t("remove")}</button>
      </p>`}
      <footer>
        <button type="button" onClick=${onClose}>${t("cancel")}</button>
        <${Send}>${endpoint ? t("save") : t("webhooks.make")}</${Send}>
      </footer>
    </${Form}>
  </${Dialog}>`;
}

/** @param {{title: string, secret: string, onClose: () => void}} props */
function FreshSecret({ title, secret, onClose }) {
  return html`<${Dialog} once title=${title} onClose=${onClose}>
    <p>${t("tokens.once")}</p>
    <${Copyable} label=${t("webhooks.secret")} text=${secret} hint=${t("webhooks.secret_hint")} />
    <footer><button class="is-primary" onClick=${onClose}>${t("done")}</button></footer>
  </${Dialog}>`;
}
