// A channel in words: what it is, what its state means for messages, and what to do about it.

import { html } from "../../vendor/preact.js";
import { t, word } from "../../words/index.js";
import { KNOWN, isSandbox, stateMeans, stateName } from "../../parts/linked.js";

/** @import * as Wire from "../../../types/wire.js" */

/** @type {Record<string, "is-good" | "is-bad" | "is-warn">} */
const LOOKS = { authorized: "is-good", notAuthorized: "is-bad", blocked: "is-bad", credentials_refused: "is-bad", expired: "is-bad", deleted: "is-bad" };

const OF_CHANNELS = ["channel_updated", "channel_state_changed", "brake_latched", "brake_released"];

/** Whether something of channels themselves has changed. @param {Wire.Event} event */
export const isOfChannels = (event) => OF_CHANNELS.includes(event.type);

/** Whether Green API knows no such instance, or not by that token. @param {Wire.Channel | null} channel */
export const isRefused = (channel) => channel?.state === "credentials_refused" || channel?.state === "deleted";

/** @param {{channel: Wire.Channel}} props */
export function StateTag({ channel }) {
  if (isSandbox(channel)) return html`<span class="tag">${t("channels.is_sandbox")}</span>`;
  if (!channel.state) return html`<span class="tag">${t("channels.not_known")}</span>`;
  return html`<span class="tag ${LOOKS[channel.state] ?? "is-warn"}">${stateName(channel.state)}</span>`;
}

/** @param {{channel: Wire.Channel}} props */
export function StateWords({ channel }) {
  if (isSandbox(channel)) return html`<p>${t("channels.sandbox_means")} <a href="/playground" data-within>${t("channels.to_playground")}</a></p>`;
  if (!channel.state) return html`<p>${t("channels.not_known_means")}</p>`;
  return html`<p>${stateMeans(channel.state)}</p>
    ${channel.state !== "authorized" && KNOWN.includes(channel.state) && html`<p class="todo"><strong>${t("channels.todo")}</strong> ${word("channel_state_todo", channel.state)}</p>`}`;
}

/** What it is technically, in one line. @param {{channel: Wire.Channel}} props */
export function About({ channel }) {
  // Who only answers is told the name and the state.
  if (!channel.provider) return html`<code>${channel.name}</code>`;
  if (channel.provider === "sandbox") return html`<code>${channel.name}</code> · ${t("channels.sandbox")}`;
  return html`<code>${channel.name}</code> · ${t("channels.instance", { id: channel.instance ?? t("none") })}${channel.managed_by && ` · ${t("channels.from_environment")}`}`;
}
