// The times that people choose by name. Pure: `now` comes in.

const MINUTE = 60_000;

/** @param {number} now @param {number} minutes */
export const inMinutes = (now, minutes) => new Date(now + minutes * MINUTE);

/** That hour of a day from now, by the clock on the wall. @param {number} now @param {number} days @param {number} hour */
export function dayAt(now, days, hour) {
  const at = new Date(now);
  at.setDate(at.getDate() + days);
  at.setHours(hour, 0, 0, 0);
  return at;
}

/** Monday of next week at that hour. @param {number} now @param {number} hour */
export function mondayAt(now, hour) {
  const days = (8 - new Date(now).getDay()) % 7 || 7;
  return dayAt(now, days, hour);
}

/** As a field for day and time has it: local, to the minute. @param {Date} at */
export function asField(at) {
  const two = (/** @type {number} */ value) => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** What is left of a time, as a clock shows it: `29:59`, `1:02:03`. @param {number} ms */
export function countdown(ms) {
  const all = Math.max(0, Math.ceil(ms / 1000));
  const two = (/** @type {number} */ value) => String(value).padStart(2, "0");
  const [h, m, s] = [Math.floor(all / 3600), Math.floor(all / 60) % 60, all % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}
