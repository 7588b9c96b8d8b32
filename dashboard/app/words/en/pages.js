// Words of the pages.

import { settings } from "./pages/settings.js";

export const pages = { ...settings };
