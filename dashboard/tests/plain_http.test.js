// A page that came over plain http, from another machine of the office, can do all that one over https can: a browser gives
// it less, and then there is another way.

import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { files } from "./sources.js";
import { uuid } from "../app/wire/random.js";

/** What only secure contexts have, and where it is asked for beside what is done without it. */
const SECURE = {
  "navigator\\.clipboard": ["parts/copy.js"],
  "navigator\\.locks": ["wire/together.js"],
  "\\bNotification[.(]": ["inbox/alerts.js", "pages/settings/notifications.js"],
  "randomUUID\\(|\\bsubtle\\b|serviceWorker|wakeLock|mediaDevices|\\bcaches\\b|cookieStore|navigator\\.(share|storage|credentials|usb|serial)|show\\w+FilePicker|PushManager|Geolocation": [],
};

test("what only a page over https has is asked for where there is another way", () => {
  for (const [name, places] of Object.entries(SECURE)) {
    const found = files(".js").filter(({ text }) => new RegExp(name).test(text)).map(({ path }) => path);
    assert.deepEqual(found, places, name);
  }
});

test("an id is a UUID, and each is another", () => {
  const ids = Array.from({ length: 50 }, uuid);
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(new Set(ids).size, 50);
});
