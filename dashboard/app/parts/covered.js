// A keyboard that lies over the page, as on an iPhone: the shell stands where one still sees. The browser lets one look at a
// part of the page then, and keeps the page as large as it was. Where it makes the page smaller instead, nothing is covered.

/**
 * What is seen of the page. One that is magnified is moved by hand.
 * @param {{height: number, offsetTop: number, scale: number}} view what is looked at @param {number} whole the height of the page
 */
export function seen({ height, offsetTop, scale }, whole) {
  const isCovered = scale === 1 && height < whole - 1;
  // How far it was moved may be said for some time after the keyboard is gone.
  return { isCovered, height: isCovered ? `${height}px` : "100dvh", from: isCovered ? `${offsetTop}px` : "0px" };
}

export function guard() {
  const view = window.visualViewport;
  const root = document.documentElement;
  const fit = (/** @type {Event} */ { type }) => {
    const { isCovered, height, from } = seen(/** @type {VisualViewport} */ (view), root.clientHeight);
    root.style.setProperty("--seen", height);
    root.style.setProperty("--from", from);
    root.toggleAttribute("data-covered", isCovered);
    // The browser had moved the page for the field before the field moved with the shell.
    if (isCovered && type === "resize") document.activeElement?.scrollIntoView({ block: "nearest" });
  };
  for (const name of ["resize", "scroll"]) view?.addEventListener(name, fit);
}
