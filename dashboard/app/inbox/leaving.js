// Whoever leaves the page is asked first where that would lose something: a tab that is closed keeps no text, and a page that is
// loaded anew no file.

import { isAnyOwed } from "../state/owed.js";
import { me } from "../state/session.js";
import { isAnyWritten } from "./desk.js";

/** Asks, from now on. */
export function guard() {
  addEventListener("beforeunload", (event) => {
    // Where nobody sits here any more, nobody can say what it is good for.
    if (me.peek() && (isAnyOwed() || isAnyWritten())) event.preventDefault();
  });
}
