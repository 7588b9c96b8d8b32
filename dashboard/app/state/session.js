// Who sits here. Null: nobody yet, so the sign-in page shows.

import { signal } from "../vendor/preact.js";
import { Problem, call, get, post, whenUnauthorized } from "../wire/api.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Signal } from "../vendor/preact.js" */

/** @type {Signal<Wire.Me | null>} */
export const me = signal(null);
/** False until the server has said who sits here, or that nobody does. */
export const isKnown = signal(false);

/** Why it could not be asked who sits here; null: it could. @type {Signal<Problem | null>} */
export const unreached = signal(null);
/** Whether somebody sat here until the server no longer knew them. */
export const hasEnded = signal(false);

/** Whose page this is. What it knows, and what is written in it, is for nobody else. @type {string | null} */
let whose = null;

whenUnauthorized(() => {
  hasEnded.value ||= me.peek() !== null;
  me.value = null;
  isKnown.value = true;
});

/** Asks the server. A server that can't be reached is asked again by whoever shows that. */
export async function look() {
  try {
    /** @type {Wire.Me} */
    const found = await get("/me");
    if (whose !== null && whose !== found.id) await anew();
    whose = found.id;
    me.value = found;
    unreached.value = null;
    hasEnded.value = false;
  } catch (error) {
    // Nobody is signed in: that is known, and no failure.
    if (error instanceof Problem) unreached.value = error.status === 401 ? null : error;
    throw error;
  } finally {
    isKnown.value = true;
  }
}

/** Leaves the page for a new one of the same address: what is asked of this one goes no further. */
function anew() {
  location.reload();
  return new Promise(() => {});
}

/** @param {{email: string, password: string} | {link: string}} proof */
export async function signIn(proof) {
  await post("/session", proof);
  await look();
}

export async function signOut() {
  await call("DELETE", "/session");
  me.value = null;
}

export const isAdmin = () => me.value?.role === "admin";
/** What belongs to no channel in particular is for who may see all of them. */
export const isAdminOfAll = () => isAdmin() && !me.value?.channels;
/** Whether what is for those channels (null: for all) is for none that they do not see. @param {string[] | null} channels */
export const seesAllOf = (channels) => !me.value?.channels || (channels?.every((name) => me.value?.channels?.includes(name)) ?? false);
/** Whether they may answer and switch at all. */
export const mayAct = () => me.value?.role === "admin" || me.value?.role === "agent";
