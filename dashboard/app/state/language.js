// In which language the page speaks: what the person chose, else what was set for the whole installation, else the first of
// the browser's that there are words in.

/**
 * @param {{chosen: string | null, installation: string, browser: readonly string[]}} wishes @param {string[]} known
 * @returns {string}
 */
export function choose({ chosen, installation, browser }, known) {
  const wishes = chosen ? [chosen] : installation ? [installation] : browser.map((tag) => tag.split("-")[0]);
  return wishes.find((tag) => known.includes(tag)) ?? "en";
}
