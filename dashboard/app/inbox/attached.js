// A file that goes with what is written: chosen, pasted or dropped; seen before it goes, and told when it cannot.

import { html, useEffect, useMemo, useRef } from "../vendor/preact.js";
import { Icon } from "../parts/icon.js";
import { fileSize } from "./media.js";
import { number, t } from "../words/index.js";

/** What the server takes, in bytes. */
const SIZE_MAX = 16 * 1024 * 1024;
/** Pictures that every browser draws; anything else is a name. */
const DRAWN = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/**
 * The file that is taken of those given, and what is to be said about it.
 * @param {FileList} files @param {boolean} isNote
 * @returns {{file: File | null, problem: string}}
 */
export function firstOf(files, isNote) {
  const [file] = files;
  const { name } = file;
  if (isNote) return { file: null, problem: t("composer.no_files_in_notes") };
  if (file.size === 0) return { file: null, problem: t("composer.file_empty", { name }) };
  if (file.size > SIZE_MAX) return { file: null, problem: t("composer.file_too_large", { name, max: number(SIZE_MAX / 1024 / 1024) }) };
  return { file, problem: files.length > 1 ? t("composer.one_file", { name }) : "" };
}

/**
 * The files of what is pasted. Spreadsheets and word processors put a picture of the words beside the words: then it is those
 * that are meant. A file that was copied comes with its name.
 * @param {DataTransfer | null} pasted
 */
export function pastedFiles(pasted) {
  const names = [...(pasted?.files ?? [])].map((file) => file.name);
  const lines = pasted?.getData("text/plain").split(/\r?\n/).filter((line) => line.trim() !== "") ?? [];
  return lines.every((line) => names.includes(line)) ? pasted?.files : undefined;
}

/** The button. @param {{onFiles: (files: FileList) => void}} props */
export function Attach({ onFiles }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  return html`<input ref=${field} type="file" hidden onChange=${(/** @type {Event} */ event) => {
      const { files } = /** @type {HTMLInputElement} */ (event.target);
      if (files) onFiles(files);
      // The same file can be chosen again.
      if (field.current) field.current.value = "";
    }} />
    <button type="button" class="bare" title=${t("composer.attach_hint")} onClick=${() => field.current?.click()}>
      <${Icon} name="clip" /><span>${t("composer.attach")}</span></button>`;
}

/** @param {{file: File, onDrop: () => void}} props */
export function Attached({ file, onDrop }) {
  const drawn = useMemo(() => (DRAWN.includes(file.type) ? URL.createObjectURL(file) : null), [file]);
  useEffect(() => () => void (drawn && URL.revokeObjectURL(drawn)), [drawn]);
  return html`<div class="attached">
    ${drawn ? html`<img src=${drawn} alt="" />` : html`<${Icon} name="file" />`}
    <p><span class="unseen">${t("composer.attached", { name: "" })}</span><b>${file.name}</b> <small>${fileSize(file.size)}</small></p>
    <button type="button" class="bare" aria-label=${t("composer.drop_file")} onClick=${onDrop}><${Icon} name="close" /></button>
  </div>`;
}

/** @param {{name: string, size: number}} props */
export const FileLine = ({ name, size }) => html`<p class="file-line"><${Icon} name="clip" /><b>${name}</b> <small>${fileSize(size)}</small></p>`;
