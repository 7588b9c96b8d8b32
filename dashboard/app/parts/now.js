// The clock of the page: one timer for all that shows how long ago something was.

import { signal } from "../vendor/preact.js";

const EVERY_MS = 1_000;

/** Milliseconds since the epoch, once a second. Read it only where a second matters; `minute` moves less. */
export const now = signal(Date.now());
/** The same, once a minute. */
export const minute = signal(Math.floor(Date.now() / 60_000) * 60_000);

/** The midnight before, where we are. */
const midnight = () => new Date().setHours(0, 0, 0, 0);
/** The same, once a day: what is named by how many days ago it was reads it. */
export const today = signal(midnight());

setInterval(() => {
  now.value = Date.now();
  today.value = midnight();
  minute.value = Math.floor(now.peek() / 60_000) * 60_000;
}, EVERY_MS);
