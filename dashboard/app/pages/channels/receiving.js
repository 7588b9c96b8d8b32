// How this server hears of its numbers: Green API calls it, or it fetches what happens there.

/** @import * as Wire from "../../../types/wire.js" */

/** @param {Wire.Page<Wire.Setting> | null} settings null: not known yet */
export const isFetched = (settings) => settings?.items.find(({ name }) => name === "BATON_GREEN_API_RECEIVE")?.value === "poll";

/**
 * Whether a new webhook token is of any use: nobody comes by that door while everything is fetched.
 * @param {Wire.Channel} channel @param {Wire.Page<Wire.Setting> | null} settings
 */
export const isTokenOffered = (channel, settings) => !channel.managed_by && settings !== null && !isFetched(settings);
