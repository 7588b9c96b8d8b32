// The clock of the page, which goes by the server's: one timer for all that shows how long ago something was.

import { signal } from "../vendor/preact.js";
import { serverNow } from "../wire/server_time.js";

const EVERY_MS = 1_000;

/** Milliseconds since the epoch, once a second. Read it only where a second matters; `minute` moves less. */
export const now = signal(serverNow());
/** The same, once a minute. */
export const minute = signal(Math.floor(serverNow() / 60_000) * 60_000);

/** The midnight before, where we are. */
const midnight = () => new Date(serverNow()).setHours(0, 0, 0, 0);
/** The same, once a day: what is named by how many days ago it was reads it. */
export const today = signal(midnight());

setInterval(() => {
  now.value = serverNow();
  today.value = midnight();
  minute.value = Math.floor(now.peek() / 60_000) * 60_000;
}, EVERY_MS);
