// Who sits here. Null: nobody yet, so the sign-in page shows.

import { signal } from "../vendor/preact.js";
import { call, get, post, whenUnauthorized } from "../wire/api.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Signal } from "../vendor/preact.js" */

/** @type {Signal<Wire.Me | null>} */
export const me = signal(null);
/** False until the server has said who sits here, or that nobody does. */
export const isKnown = signal(false);

whenUnauthorized(() => {
  me.value = null;
  isKnown.value = true;
});

/** Asks the server. A server that can't be reached is asked again by whoever shows that. */
export async function look() {
  try {
    me.value = await get("/me");
  } finally {
    isKnown.value = true;
  }
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
/** Whether they may answer and switch at all. */
export const mayAct = () => me.value?.role === "admin" || me.value?.role === "agent";
