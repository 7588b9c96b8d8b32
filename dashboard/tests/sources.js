// The dashboard's own files as text, for the tests that read them. Vendored files are others' and left out.

import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const APP = fileURLToPath(new URL("../app/", import.meta.url));

/** Path below `app/` and text of every file with that ending. */
export function files(ending) {
  return readdirSync(APP, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(ending) && !path.startsWith("vendor/"))
    .sort()
    .map((path) => ({ path, text: readFileSync(APP + path, "utf8") }));
}

/** What stands at a place of a text, as an editor counts lines. */
export const line = (text, at) => text.slice(0, at).split("\n").length;

/**
 * The markup of every template that begins with `html`, with a hole for what is filled in, and where it begins. Knows as much
 * of the language as that takes: strings, comments, regular expressions, and templates within templates.
 */
export function markup(source) {
  const found = [];
  code(0, null);
  return found;

  // Reads code from `at` to the bracket that closes it.
  function code(at, end) {
    let depth = 0;
    let before = "";
    while (at < source.length) {
      const c = source[at];
      const two = source.slice(at, at + 2);
      if (two === "//") at = after("\n", at);
      else if (two === "/*") at = after("*/", at + 2);
      else if (c === "'" || c === '"') [at, before] = [quoted(at, c), c];
      else if (c === "`") [at, before] = [template(at + 1, /\bhtml$/.test(source.slice(Math.max(0, at - 5), at))), c];
      else if (c === "/" && (before === "" || "(,=:[!&|?{};>+".includes(before) || /\breturn$/.test(source.slice(0, at).trimEnd()))) {
        [at, before] = [expression(at + 1), c];
      } else {
        if (c === end && depth === 0) return at;
        if (c === "{") depth += 1;
        if (c === "}") depth -= 1;
        if (c.trim()) before = c;
        at += 1;
      }
    }
    return at;
  }

  function after(mark, at) {
    const end = source.indexOf(mark, at);
    return end < 0 ? source.length : end + mark.length;
  }

  function quoted(at, quote) {
    for (at += 1; source[at] !== quote; at += 1) if (source[at] === "\\") at += 1;
    return at + 1;
  }

  function expression(at) {
    for (let isClass = false; source[at] !== "/" || isClass; at += 1) {
      if (source[at] === "\\") at += 1;
      else if (source[at] === "[") isClass = true;
      else if (source[at] === "]") isClass = false;
    }
    return at + 1;
  }

  function template(at, isMarkup) {
    const begin = at;
    let text = "";
    while (source[at] !== "`") {
      if (source.startsWith("${", at)) {
        at = code(at + 2, "}") + 1;
        text += "\0";
      } else {
        if (source[at] === "\\") text += source[at++];
        text += source[at++];
      }
    }
    if (isMarkup) found.push({ text, at: begin });
    return at + 1;
  }
}

/**
 * The rules of a style sheet, in their order: each with its selector, what it declares, and the medium that it stands in.
 * Knows as much of the language as ours has: no nested rules, no `}` in a string.
 */
export function rules(sheet) {
  const found = [];
  let media = "";
  const text = sheet.replace(/\/\*[^]*?\*\//g, "");
  for (const [, head, body, end] of text.matchAll(/([^{}]+)\{(?:([^{}]*)\})?|(\})/g)) {
    if (end) media = "";
    else if (body === undefined) media = head.trim();
    else {
      const declared = body.split(/;(?![^(]*\))/).map((one) => one.split(/:(.*)/s).map((part) => part?.trim())).filter(([name]) => name);
      for (const selector of head.split(/,(?![^(]*\))/)) found.push({ media, selector: selector.trim(), declared: Object.fromEntries(declared.map(([name, value]) => [name, value])) });
    }
  }
  return found;
}
