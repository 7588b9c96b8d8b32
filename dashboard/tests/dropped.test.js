import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { guard } from "../app/parts/dropped.js";

test("a file that is let go where nobody takes it is not opened in place of the page; words go where they went", (t) => {
  const runs = {};
  t.mock.method(document, "addEventListener", (name, run) => void (runs[name] = run));
  guard();
  /** What the browser would still do with it, and what it shows. */
  const letGo = (name, types, isTaken = false) => {
    const event = { defaultPrevented: isTaken, dataTransfer: { types, dropEffect: "copy" }, preventDefault: () => (event.defaultPrevented = true) };
    runs[name](event);
    return [event.defaultPrevented, event.dataTransfer.dropEffect];
  };
  for (const name of ["dragover", "drop"]) {
    assert.deepEqual(letGo(name, ["Files"]), [true, "none"]);
    assert.deepEqual(letGo(name, ["Files"], true), [true, "copy"]);
    assert.deepEqual(letGo(name, ["text/plain", "text/html"]), [false, "copy"]);
  }
});
