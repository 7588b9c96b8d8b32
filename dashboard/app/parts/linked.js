// Whether a channel's number is linked, and what its state means for messages.

import { t, word } from "../words/index.js";

/** @import * as Wire from "../../types/wire.js" */

/** States of which these words know: Green API's, and what Baton says itself. All others say that Baton does not send. */
export const KNOWN = [
  "authorized", "notAuthorized", "blocked", "yellowCard", "sleepMode", "starting", "credentials_refused", "expired", "deleted", "unknown",
];

/** @param {Wire.Channel} channel */
export const isSandbox = (channel) => channel.provider === "sandbox" || (!channel.provider && channel.name === "sandbox");

/** @param {Wire.Channel} channel */
export const isLinked = (channel) => channel.state === "authorized" || isSandbox(channel);

/** What it is called. @param {string} state */
export const stateName = (state) => (KNOWN.includes(state) ? word("channel_state", state) : state);

/** @param {string} state */
export const stateMeans = (state) => (KNOWN.includes(state) ? word("channel_state_means", state) : t("channels.other_means"));
