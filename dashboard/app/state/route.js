// Where in the dashboard we are: the path, as a signal. Links are plain links.

import { signal } from "../vendor/preact.js";

/**
 * @typedef {{page: string, id: string | null, sub: string | null, query: URLSearchParams, path: string}} Route
 *   `/inbox/{id}`: page `inbox`, id `{id}`. `/settings/channels/shop`: page `settings`, id `channels`, sub `shop`.
 */

/** A piece of an address that no browser has written stays as it is: it leads nowhere, and the page says so. @param {string} piece */
function decoded(piece) {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece;
  }
}

/** @returns {Route} */
function read() {
  const [page = "", id = null, sub = null] = location.pathname.split("/").filter(Boolean).map(decoded);
  return { page: page || "inbox", id, sub, query: new URLSearchParams(location.search), path: location.pathname };
}

export const route = signal(read());

/** @param {string} path @param {{replace?: boolean}} [how] */
export function go(path, how = {}) {
  if (path === location.pathname + location.search) return;
  if (how.replace) history.replaceState(null, "", path);
  else history.pushState(null, "", path);
  route.value = read();
}

addEventListener("popstate", () => {
  route.value = read();
});

// A click on a link of ours stays on the page; with a modifier key it is the browser's.
document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
  if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || link.target || link.hasAttribute("download")) return;
  if (!("within" in link.dataset)) return;
  event.preventDefault();
  go(link.pathname + link.search);
});
