// Whether somebody looks at this page now: it is in front, and the window has the focus.

import { signal } from "../vendor/preact.js";

const looks = () => document.visibilityState === "visible" && document.hasFocus();

export const isLookedAt = signal(looks());

const look = () => {
  isLookedAt.value = looks();
};
document.addEventListener("visibilitychange", look);
addEventListener("focus", look);
addEventListener("blur", look);
