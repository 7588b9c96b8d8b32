// Which tab calls a person, of those that hear the same: each says at once what it could do, and a moment later all know which
// of them does it.

import { uuid } from "../wire/random.js";

/** So long the others have to say it. A page that nobody sees is woken a little later. */
const SAID_MS = 300;
/** What was said about so many events is kept: others may say it before it is heard here, and after it was done. */
const KEPT_MAX = 50;

/**
 * What one tab says of an event: whether somebody sees there what it is about, whether they look at that tab at all, and whether
 * it may sound.
 * @typedef {{isSeen: boolean, isLookedAt: boolean, canRing: boolean}} Look
 * @typedef {Look & {event: string, tab: string}} Offer
 * @typedef {Offer & {heardAt: number}} Heard
 */

/**
 * What falls to a tab: one rings and one notifies. Neither is for what somebody sees, and nobody is notified who looks at any.
 * @param {Offer[]} offers @param {string} tab
 */
export function share(offers, tab) {
  /** @param {Offer[]} all */
  const falls = (all) => all.map((it) => it.tab).sort()[0] === tab;
  return {
    rings: !offers.some((it) => it.isSeen) && falls(offers.filter((it) => it.canRing)),
    notifies: !offers.some((it) => it.isLookedAt) && falls(offers),
  };
}

/** Takes part, with the other tabs that call it by the same name. @param {string} name */
export function join(name) {
  const tab = uuid();
  const others = new BroadcastChannel(name);
  /** By event. @type {Map<string, Heard[]>} */
  const offers = new Map();
  /** @type {Set<ReturnType<typeof setTimeout>>} */
  const due = new Set();

  /** @param {Offer} offer */
  function keep(offer) {
    offers.set(offer.event, [...(offers.get(offer.event) ?? []), { ...offer, heardAt: Date.now() }]);
    const [oldest] = offers.keys();
    if (offers.size > KEPT_MAX) offers.delete(oldest);
  }
  others.onmessage = ({ data }) => keep(data);

  /** @param {string} event @param {Look} look @param {(mine: ReturnType<typeof share>) => void} call */
  function offer(event, look, call) {
    // Where each tab follows for itself, this one may hear of it when others have called already.
    if (offers.get(event)?.some(({ heardAt }) => Date.now() - heardAt >= SAID_MS)) return;
    const mine = { ...look, event, tab };
    keep(mine);
    others.postMessage(mine);
    const timer = setTimeout(() => {
      due.delete(timer);
      call(share(offers.get(event) ?? [], tab));
    }, SAID_MS);
    due.add(timer);
  }
  function leave() {
    due.forEach(clearTimeout);
    others.close();
  }
  return { offer, leave };
}
