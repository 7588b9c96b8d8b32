// What is not text: a picture, sound or film where it may be shown, else what it is and why it cannot be.

import { html, signal, useMemo } from "../vendor/preact.js";
import { Icon } from "../parts/icon.js";
import { problemText } from "../parts/toast.js";
import { obstacle } from "../wire/api.js";
import { number, t, word } from "../words/index.js";

/** @import * as Wire from "../../types/wire.js" */

/** @type {Record<string, import("../parts/icon.js").IconName>} */
const SIGNS = { image: "picture", video: "film", audio: "voice", voice: "voice", sticker: "picture", location: "pin", contact: "person", document: "file", poll: "list", list: "list", buttons: "list", call: "phone" };
const STEP = 1024;

/** @param {{it: Wire.Message}} props */
export function Media({ it }) {
  const { media, kind } = it;
  if (!media) return kind === "text" || kind === "note" ? null : html`<p class="media-kind"><${Icon} name=${SIGNS[kind] ?? "file"} />${word("kind", kind)}</p>`;
  const isThere = media.state === "available" && media.url;
  return html`<div class="media">
    ${isThere ? html`<${Shown} it=${it} media=${media} />` : html`<${Card} it=${it} media=${media} />`}
    ${media.transcript && html`<p class="transcript"><b>${t(kind === "image" ? "media.seen" : "media.transcript")}</b> ${media.transcript}</p>`}
  </div>`;
}

/** Of what the server says of a file, what a message may say of its own. */
const STATES = ["host_not_allowed", "too_large", "gone"];

/**
 * Why a file is not shown, and whether it can be had all the same. The words are empty until they are known.
 * @typedef {{words: string, isThere: boolean}} Lost
 */

/** What is known of a file as it is shown. @param {string} url */
export function showing(url) {
  const lost = signal(/** @type {Lost | null} */ (null));
  const attempt = signal(0);
  return {
    lost,
    attempt,
    async fail() {
      lost.value = { words: "", isThere: false };
      const problem = await obstacle(url);
      if (!problem) lost.value = { words: t("media.unshown"), isThere: true };
      else lost.value = { words: STATES.includes(problem.code) ? word("media_state", problem.code) : problemText(problem), isThere: false };
    },
    again() {
      attempt.value += 1;
      lost.value = null;
    },
  };
}

/** @param {{it: Wire.Message, media: Wire.Media}} props */
function Shown({ it, media }) {
  const url = media.url ?? "";
  const file = useMemo(() => showing(url), [url]);
  return file.lost.value
    ? html`<${Card} it=${it} media=${media} lost=${file.lost.value} again=${file.again} />`
    : html`<${Seen} key=${file.attempt.value} it=${it} media=${media} fail=${file.fail} />`;
}

/** @param {{it: Wire.Message, media: Wire.Media, fail: () => void}} props */
export function Seen({ it, media, fail }) {
  const name = media.file_name ?? word("kind", it.kind);
  const url = media.url ?? "";
  if (it.kind === "image" || it.kind === "sticker") return html`<a href=${url} target="_blank" rel="noreferrer" class="picture ${it.kind === "sticker" ? "is-sticker" : ""}">
    <img src=${url} alt=${media.caption ?? name} loading="lazy" decoding="async" onError=${fail} /></a>`;
  if (it.kind === "voice" || it.kind === "audio") return html`<audio controls preload="none" src=${url} aria-label=${name} onError=${fail}></audio>`;
  if (it.kind === "video") return html`<video controls preload="none" src=${url} aria-label=${media.caption ?? name} onError=${fail}></video>`;
  return html`<${Card} it=${it} media=${media} />`;
}

/** @param {{it: Wire.Message, media: Wire.Media, lost?: Lost | null, again?: () => void}} props */
export function Card({ it, media, lost = null, again }) {
  const facts = [media.file_name && it.kind !== "document" ? word("kind", it.kind) : null, media.size === null ? null : fileSize(media.size), media.seconds === null ? null : length(media.seconds)].filter(Boolean).join(" · ");
  const why = lost?.words ?? (media.state && media.state !== "available" ? word("media_state", media.state) : "");
  const isThere = media.url && (lost?.isThere ?? !why);
  const name = media.file_name ?? word("kind", it.kind);
  return html`<div class="file">
    <${Icon} name=${SIGNS[it.kind] ?? "file"} />
    <p><b>${isThere ? html`<a href=${media.url} download=${media.file_name ?? ""} target="_blank" rel="noreferrer">${name}</a>` : name}</b>
      ${facts && html`<small>${facts}</small>`}${why && html`<small class="file-why">${why}</small>`}</p>
    ${lost?.words && html`<button type="button" onClick=${again}><${Icon} name="retry" />${t("retry")}</button>`}
  </div>`;
}

/** @param {number} bytes */
export function fileSize(bytes) {
  const [value, unit] = bytes < STEP ? [bytes, "B"] : bytes < STEP * STEP ? [Math.round(bytes / STEP), "kB"] : [Math.round((bytes / STEP / STEP) * 10) / 10, "MB"];
  return `${number(Number(value))} ${unit}`;
}

/** @param {number} seconds */
const length = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.round(seconds) % 60).padStart(2, "0")}`;
