// The scale of a plot: how far it reaches, and where its lines are. Pure: numbers in, numbers out.

/** At most so many lines above zero. */
const LINES = 4;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Lengths of time that people read at once. */
const SPANS = [
  ...[100, 200, 500], ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND), ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12, 24, 48, 96, 168].map((n) => n * HOUR),
];

/**
 * The distance between two lines: 1, 2 or 5 of some power of ten.
 * @param {number} max @param {boolean} isWhole whether there is nothing between two whole numbers
 */
function distance(max, isWhole) {
  const least = max / LINES;
  const power = 10 ** Math.floor(Math.log10(least));
  const wanted = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least * (1 - 1e-9)) ?? 10 * power;
  return isWhole ? Math.max(1, wanted) : wanted;
}

/** @param {number} max */
const distanceOfTime = (max) => SPANS.find((span) => span * LINES >= max) ?? Math.ceil(max / LINES / (24 * HOUR)) * 24 * HOUR;

/**
 * Where the lines are, from zero up; the last is where the plot ends.
 * @param {number} max @param {"count" | "amount" | "time"} kind
 */
export function lines(max, kind) {
  const top = max > 0 ? max : 1;
  const step = kind === "time" ? distanceOfTime(top) : distance(top, kind === "count");
  const count = Math.ceil(top / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, at) => at * step);
}

/**
 * Which of so many places are named, so that names of that width do not touch.
 * @param {number} count @param {number} width of all @param {number} name width of one
 */
export function named(count, width, name) {
  const every = Math.max(1, Math.ceil((count * name) / Math.max(width, 1)));
  const round = [1, 2, 3, 4, 6, 7, 8, 12, 14, 24].find((n) => n >= every) ?? every;
  return Array.from({ length: Math.ceil(count / round) }, (_, at) => at * round);
}
