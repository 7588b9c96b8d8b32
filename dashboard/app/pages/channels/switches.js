// What must be set at Green API so that Baton hears everything: the address, the token, and the switches, each to be copied.

import { html } from "../../vendor/preact.js";
import { randomHex } from "../../wire/random.js";
import { t } from "../../words/index.js";
import { Copyable } from "../../parts/copy.js";
import { Failed, Table } from "../listing.js";
import { isFetched } from "./receiving.js";

/** @import * as Wire from "../../../types/wire.js" */

/** Without these something essential goes wrong; what, is in the words. */
const NEEDED = ["incomingWebhook", "outgoingMessageWebhook", "outgoingAPIMessageWebhook", "outgoingWebhook", "stateWebhook"];
const WANTED = ["editedMessageWebhook", "deletedMessageWebhook", "pollMessageWebhook"];
/** Baton sets the blue ticks itself, when somebody has read. */
const OFF = ["markIncomingMessagesReaded", "markIncomingMessagesReadedOnReply"];

/** What is asked of the instance, whole. @param {string} url @param {string} token */
const settingsOf = (url, token) => ({
  webhookUrl: url,
  webhookUrlToken: token,
  ...Object.fromEntries([...NEEDED, ...WANTED].map((name) => [name, "yes"])),
  ...Object.fromEntries(OFF.map((name) => [name, "no"])),
});

/** A secret as long as those that Baton makes. */
export const freshToken = () => randomHex(24);

/**
 * @typedef {ReturnType<typeof import("../../parts/asked.js").useAsked>} Asked
 * @param {{channel: Wire.Channel, token: string | null, settings: Asked}} props `token` null: it was shown once and is not known
 *   here any more
 */
export function Switches({ channel, token, settings }) {
  const { answer, problem, again } = settings;
  if (!answer) return problem && !problem.isNotThere ? html`<${Failed} problem=${problem} again=${again} />` : null;
  const value = (/** @type {string} */ name) => /** @type {Wire.Setting[]} */ (answer.items).find((it) => it.name === name)?.value ?? null;
  const isPolled = isFetched(answer);
  const origin = (value("BATON_PUBLIC_URL") ?? location.origin).replace(/\/$/, "");
  const url = isPolled ? "" : `${origin}/webhooks/green-api/${channel.name}`;
  return html`<div class="switches">
    ${isPolled ? html`<p>${t("switches.polled")}</p>` : html`
      ${!isReachable(origin) && html`<p class="urged is-warn" role="note">${t("switches.not_reachable", { origin })}</p>`}
      <${Copyable} label="webhookUrl" text=${url} hint=${t("switches.url")} />
      ${token ? html`<${Copyable} label="webhookUrlToken" text=${token} hint=${t("switches.token")} />`
        : html`<p class="hint">${t(channel.managed_by ? "switches.token_of_environment" : "switches.token_gone")}</p>`}`}
    <${Table} label=${t("switches.title")} items=${[...NEEDED, ...WANTED, ...OFF]} id=${(/** @type {string} */ name) => name} columns=${columns()} />
    <${Whole} at="${channel.api_url ?? value("BATON_GREEN_API_URL")}/waInstance${channel.instance}" settings=${settingsOf(url, isPolled ? "" : token ?? "WEBHOOK_TOKEN")} />
    <p class="hint">${t("switches.wait")}</p>
  </div>`;
}

/** @returns {import("../listing.js").Column<string>[]} */
const columns = () => [
  { words: t("switches.switch"), isHead: true, cell: (name) => html`<code>${name}</code>` },
  { words: t("switches.set_to"), cell: (name) => html`<strong>${OFF.includes(name) ? "no" : "yes"}</strong>` },
  { words: t("switches.or_else"), cell: (name) => t(whyOf(name)) },
];

/** @param {{at: string, settings: Record<string, string>}} props */
function Whole({ at, settings }) {
  const json = JSON.stringify(settings, null, 2);
  // The instance's token is not known here: the shell knows it.
  const command = `curl -X POST '${at}/setSettings/'"$API_TOKEN_INSTANCE" \\\n  -H 'Content-Type: application/json' -d '${JSON.stringify(settings)}'`;
  return html`<details class="whole">
    <summary>${t("switches.at_once")}</summary>
    <${Copyable} label=${t("switches.command")} text=${command} lines=${4} hint=${t("switches.command_hint")} />
    <${Copyable} label=${t("switches.json")} text=${json} lines=${6} />
  </details>`;
}

/** @param {string} name @returns {import("../../words/index.js").Key} */
function whyOf(name) {
  if (OFF.includes(name)) return "switches.why_off";
  if (WANTED.includes(name)) return "switches.why_wanted";
  return /** @type {import("../../words/index.js").Key} */ (`switches.why_${name}`);
}

/** Whether anybody outside could reach it: Green API comes from outside. @param {string} origin */
function isReachable(origin) {
  const { protocol, hostname } = new URL(origin);
  const isPrivate = /^(127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[(::1|f[cd]|fe80))/.test(hostname) || !/[.:]/.test(hostname);
  return protocol === "https:" && !isPrivate;
}
