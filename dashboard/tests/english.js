// All that English says. The page fetches the words of the pages beside the inbox with the first of them; tests have them at once.

import { en as first } from "../app/words/en.js";
import { pages } from "../app/words/en/pages.js";

export const en = { ...first, ...pages };
