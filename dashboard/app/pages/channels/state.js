// A channel in words: what it is, what its state means for messages, and what to do about it.

import { html } from "../../vendor/preact.js";
import { t, word } from "../../words/index.js";

/** @import * as Wire from "../../../types/wire.js" */

/** States of which these words know: Green API's, and what Baton says itself. All others say that Baton does not send. */
export const KNOWN = [
  "authorized", "notAuthorized", "blocked", "yellowCard", "sleepMode", "starting", "credentials_refused", "expired", "deleted", "unknown",
];
/** @type {Record<string, "is-good" | "is-bad" | "is-warn">} */
const LOOKS = { authorized: "is-good", notAuthorized: "is-bad", blocked: "is-bad", credentials_refused: "is-bad", expired: "is-bad", deleted: "is-bad" };

const OF_CHANNELS = ["channel_updated", "channel_state_changed", "brake_latched", "brake_released"];

/** Whether something of channels themselves has changed. @param {Wire.Event} event */
export const isOfChannels = (event) => OF_CHANNELS.includes(event.type);

/** @param {Wire.Channel} channel */
const isSandbox = (channel) => channel.provider === "sandbox" || (!channel.provider && channel.name === "sandbox");

/** @param {Wire.Channel} channel */
export const isLinked = (channel) => channel.state === "authorized" || isSandbox(channel);

/** @param {{channel: Wire.Channel}} props */
export function StateTag({ channel }) {
  if (isSandbox(channel)) return html`<span class="tag">${t("channels.is_sandbox")}</span>`;
  if (!channel.state) return html`<span class="tag">${t("channels.not_known")}</span>`;
  const name = KNOWN.includes(channel.state) ? word("channel_state", channel.state) : channel.state;
  return html`<span class="tag ${LOOKS[channel.state] ?? "is-warn"}">${name}</span>`;
}

/** @param {{channel: Wire.Channel}} props */
export function StateWords({ channel }) {
  if (isSandbox(channel)) return html`<p>${t("channels.sandbox_means")} <a href="/playground" data-within>${t("channels.to_playground")}</a></p>`;
  if (!channel.state) return html`<p>${t("channels.not_known_means")}</p>`;
  if (!KNOWN.includes(channel.state)) return html`<p>${t("channels.other_means")}</p>`;
  return html`<p>${word("channel_state_means", channel.state)}</p>
    ${channel.state !== "authorized" && html`<p class="todo"><strong>${t("channels.todo")}</strong> ${word("channel_state_todo", channel.state)}</p>`}`;
}

/** What it is technically, in one line. @param {{channel: Wire.Channel}} props */
export function About({ channel }) {
  // Who only answers is told the name and the state.
  if (!channel.provider) return html`<code>${channel.name}</code>`;
  if (channel.provider === "sandbox") return html`<code>${channel.name}</code> · ${t("channels.sandbox")}`;
  return html`<code>${channel.name}</code> · ${t("channels.instance", { id: channel.instance ?? t("none") })}${channel.managed_by && ` · ${t("channels.from_environment")}`}`;
}
