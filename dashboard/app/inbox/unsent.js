// What was written here and the server has not confirmed: never shown as more than that.

import { html } from "../vendor/preact.js";
import { isRepeatable } from "../state/owed.js";
import { serverNow } from "../wire/server_time.js";
import { Icon } from "../parts/icon.js";
import { minute } from "../parts/now.js";
import { problemText } from "../parts/toast.js";
import { clock, t } from "../words/index.js";
import { FileLine } from "./attached.js";
import { isRefusal } from "./fates.js";

/** @import { Owed } from "../state/owed.js" */

/** @param {{it: Owed, onAgain: (it: Owed, force?: boolean) => void, onEdit: (it: Owed) => void, onDiscard: (it: Owed) => void}} props */
export function Unsent({ it, onAgain, onEdit, onDiscard }) {
  const { problem } = it;
  // A refusal is certain; with anything else it may have arrived all the same.
  const isRefused = problem !== null && isRefusal(problem);
  const isStale = problem?.code === "stale";
  // The page was loaded anew, and a page cannot keep a file.
  const isLost = it.file !== null && it.file?.blob === null;
  // What may have arrived is not written anew by one click: then it could arrive twice. Once the server may have forgotten that
  // it had it, trying again could do the same, and to write it anew, having looked, is the way that is left.
  // Its age is by the server's clock, by which it was noted; it is looked at once a minute.
  minute.value;
  const isSafe = isRepeatable(it, serverNow());
  return html`<div class="speech-line ${it.kind === "note" ? "is-note" : "from-agent"} is-first is-unsent">
    <div class="speech">
      <p class="speech-by"><${Icon} name=${it.kind === "note" ? "note" : "person"} />${it.kind === "note" ? t("bubble.note_by", { name: t("you") }) : t("you")}</p>
      ${it.quoted && html`<div class="quote"><span dir="auto">${it.quoted.text}</span></div>`}
      ${it.file && html`<${FileLine} name=${it.file.name} size=${it.file.size} />`}
      ${it.text && html`<p class="says" dir="auto">${it.text}</p>`}
      <p class="speech-foot"><time datetime=${it.at}>${clock(it.at)}</time>
        ${!problem && html`<span class="ticks"><${Icon} name="clock" /><span>${it.kind === "note" ? t("unsent.keeping") : t("unsent.bringing")}</span></span>`}</p>
      ${problem && html`<div class="unsent-problem" role="alert">
        <p><${Icon} name="alert" /> ${isStale ? t("problem.stale") : problem.code === "file_unreadable" ? problemText(problem) : isRefused ? t("unsent.refused", { why: problemText(problem) })
          : isLost ? t("unsent.file_lost") : problem.status === 401 ? t("unsent.ended") : problem.code === "interrupted" ? t("unsent.interrupted") : t("unsent.unconfirmed")}</p>
        <p class="buttons">
          ${isStale ? html`<button type="button" onClick=${() => onAgain(it, true)}>${t("unsent.force")}</button>`
          : !isRefused && !isLost && isSafe && html`<button type="button" onClick=${() => onAgain(it)}><${Icon} name="retry" />${t("retry")}</button>`}
          ${(isRefused || (!isSafe && !isLost)) && html`<button type="button" onClick=${() => onEdit(it)}><${Icon} name="pen" />${t("unsent.edit")}</button>`}
          <button type="button" onClick=${() => onDiscard(it)}><${Icon} name="trash" />${t("unsent.discard")}</button>
        </p>
        ${!isRefused && !isLost && html`<p class="hint">${isSafe ? t("unsent.once") : t("unsent.old")}</p>`}
      </div>`}
    </div>
  </div>`;
}
