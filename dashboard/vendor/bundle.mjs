// Makes app/vendor/preact.js from the packages that package-lock.json pins, and writes down its checksum.
// With --check it changes nothing, and fails if the file is not the one that would be made.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const FILE = new URL("../app/vendor/preact.js", import.meta.url);
const CHECKSUM = new URL("preact.js.sha256", import.meta.url);
const PACKAGES = ["preact", "htm", "@preact/signals", "@preact/signals-core"];

const named = PACKAGES.map((name) => {
  const { version, license } = JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), "utf8"));
  return `${name} ${version} (${license})`;
});
const { outputFiles } = await build({
  entryPoints: [new URL("entry.js", import.meta.url).pathname],
  bundle: true,
  format: "esm",
  minify: true,
  target: "es2022",
  legalComments: "none",
  banner: { js: `/* ${named.join(", ")}. Made by vendor/bundle.mjs. */` },
  write: false,
});
const made = outputFiles[0].text;
const checksum = `${createHash("sha256").update(made).digest("hex")}  preact.js\n`;

if (process.argv.includes("--check")) {
  if (readFileSync(FILE, "utf8") !== made || readFileSync(CHECKSUM, "utf8") !== checksum) {
    console.error("app/vendor/preact.js is not what the pinned packages make: npm run vendor");
    process.exit(1);
  }
} else {
  writeFileSync(FILE, made);
  writeFileSync(CHECKSUM, checksum);
  console.log(`${named.join(", ")}: ${made.length} bytes`);
}
