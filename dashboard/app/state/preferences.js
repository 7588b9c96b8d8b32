// What each person likes. Kept by the server with the person, and here for the next start, which must not wait for it.

import { effect, signal } from "../vendor/preact.js";
import { patch } from "../wire/api.js";
import { me } from "./session.js";

/**
 * @typedef {{
 *   theme: "system" | "light" | "dark",
 *   language: string | null,
 *   enterSends: boolean,
 *   keys: boolean,
 *   sound: boolean,
 *   notifications: boolean,
 *   toured: boolean,
 * }} Preferences
 */

const KEY = "baton.preferences";
/** @type {Preferences} */
const FIRST = { theme: "system", language: null, enterSends: true, keys: true, sound: true, notifications: false, toured: false };

/** @returns {Partial<Preferences> & {whose?: string | null}} */
function kept() {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}");
  } catch {
    // Storage may be closed to us, or hold what is none of ours: then it is the first time.
    return {};
  }
}

const { whose: before = null, ...last } = kept();
/** Who likes it so. */
let whose = before;

/** @type {import("../vendor/preact.js").Signal<Preferences>} */
export const preferences = signal({ ...FIRST, ...last });

// What the server knows of the person is newer than what this browser remembers; and what that remembers of another is theirs.
effect(() => {
  const it = me.value;
  if (!it) return;
  preferences.value = { ...(whose === it.id ? preferences.peek() : FIRST), ...it.preferences };
  whose = it.id;
});

effect(() => {
  const now = preferences.value;
  if (whose === null) return;
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...now, whose }));
  } catch {
    // A browser that keeps nothing still has the server.
  }
});

effect(() => {
  const { theme } = preferences.value;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
});

/** @param {Partial<Preferences>} change */
export async function prefer(change) {
  preferences.value = { ...preferences.peek(), ...change };
  // A token of the environment is no person, and the server keeps nothing for it.
  if (me.peek()?.email) await patch("/me", { preferences: preferences.peek() });
}
