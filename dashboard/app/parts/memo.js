// A component that is drawn again only when something given to it has changed. To keep what was drawn in `useMemo` and
// return it again would do the same, but hold on to the whole page as it was drawn then, and through that to all before.

import { h } from "../vendor/preact.js";

/** @typedef {(before: any, after: any) => boolean} Same */

/** @type {Same} */
export const isShallow = (before, after) => {
  const names = Object.keys(after);
  return names.length === Object.keys(before).length && names.every((name) => before[name] === after[name]);
};

/**
 * @template {(props: any) => any} T
 * @param {T} Drawn @param {Same} [isSame] whether two sets of props draw the same
 * @returns {T}
 */
export function memo(Drawn, isSame = isShallow) {
  /** @this {any} @param {any} next */
  function shouldUpdate(next) {
    return !isSame(this.props, next);
  }
  /** @this {any} @param {any} props */
  function Memo(props) {
    this.shouldComponentUpdate = shouldUpdate;
    return h(Drawn, props);
  }
  return /** @type {any} */ (Memo);
}
