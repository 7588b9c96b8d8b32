// What a part would draw, without a page to draw it on: parts that keep nothing are functions, and are asked.

/** All words of it, those of the parts within too. */
export const drawn = (of) => words(of).replace(/\s+/g, " ").trim();

function words(of) {
  if (Array.isArray(of)) return of.map(words).join(" ");
  if (of === null || of === undefined || typeof of === "boolean") return "";
  if (typeof of !== "object") return String(of);
  return words(typeof of.type === "function" ? of.type(of.props) : of.props.children);
}

/** The properties of the first that has one of that name. */
export function having(of, name) {
  if (Array.isArray(of)) return of.map((one) => having(one, name)).find(Boolean);
  if (!of?.props) return undefined;
  return name in of.props ? of.props : having(of.props.children, name);
}
