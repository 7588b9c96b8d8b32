// The time as the server has it. A computer's clock may be minutes off, and what is to be done at a moment is done by the
// server's; how long ago something was is told by what it wrote, too.

/** What is less than this may be the way there and back, and the seconds that an answer leaves out. */
const SLACK_MS = 5_000;

/** How far the server's clock is ahead of this computer's. */
let ahead = 0;

/** Now, by the server's clock. Milliseconds since the epoch. */
export const serverNow = () => Date.now() + ahead;

/** Learns from an answer what time it is there. @param {Response} answer @param {number} askedAt by this computer's clock */
export function learnTime(answer, askedAt) {
  const found = Date.parse(answer.headers.get("date") ?? "") - Date.now();
  // One that was long on its way, perhaps through a computer's sleep, says nothing of now.
  if (Number.isNaN(found) || Date.now() - askedAt > SLACK_MS) return;
  if (Math.abs(found - ahead) > SLACK_MS) ahead = found;
}
