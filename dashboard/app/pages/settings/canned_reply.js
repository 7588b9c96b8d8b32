// One canned reply: written with its variables at hand, read along while it is written.

import { html, useRef, useSignal } from "../../vendor/preact.js";
import { isAdmin, me } from "../../state/session.js";
import { patch, post } from "../../wire/api.js";
import { t } from "../../words/index.js";
import { Dialog } from "../../parts/dialog.js";
import { Field, Form, Send } from "../../parts/form.js";
import { say } from "../../parts/toast.js";
import { VARIABLES, fill, read } from "./variables.js";
import { changed } from "../changed.js";
import { ChannelsField, channelsOf } from "./channels_field.js";

/** @import * as Wire from "../../../types/wire.js" */

/** @param {{reply: Wire.CannedReply | null, mayOwn: boolean, onChanged: () => void, onClose: () => void}} props without a reply, one is made */
export function ReplyForm({ reply, mayOwn, onChanged, onClose }) {
  const text = useSignal(reply?.text ?? "");
  const area = useRef(/** @type {HTMLDivElement | null} */ (null));
  const { fault } = read(text.value);

  /** @param {FormData} given */
  async function send(given) {
    const body = { shortcut: String(given.get("shortcut")).replace(/^\//, ""), text: given.get("text"), channels: channelsOf(given) };
    const owner = (given.get("owner") ?? (isAdmin() ? "" : "me")) || null;
    await (reply ? patch(`/canned-replies/${reply.id}`, changed(body, reply)) : post("/canned-replies", { ...body, owner }));
    say(t("saved"));
    onChanged();
    onClose();
  }
  /** Puts a variable where the cursor is. @param {string} name */
  function put(name) {
    const field = area.current?.querySelector("textarea");
    if (!field) return;
    field.setRangeText(`{{${name}}}`, field.selectionStart, field.selectionEnd, "end");
    text.value = field.value;
    field.focus();
  }
  const whose = [{ value: "", words: t("canned.for_all") }, { value: "me", words: t("canned.for_me") }];
  return html`<${Dialog} wide title=${reply ? t("edit.what", { what: `/${reply.shortcut}` }) : t("canned.make")} onClose=${onClose}>
    <${Form} class="form is-wide" onSend=${send} words=${(/** @type {import("../../wire/api.js").Problem} */ problem) => (problem.status === 409 ? t("canned.taken") : null)}>
      <${Field} name="shortcut" label=${t("canned.shortcut")} hint=${t("canned.shortcut_hint")} initial=${reply?.shortcut} autofocus required maxlength="40" pattern="[^\\s]+" autocomplete="off" spellcheck=${false} />
      <div ref=${area}>
        <${Field} name="text" label=${t("canned.text")} lines=${5} initial=${reply?.text} required maxlength="20000"
          fault=${fault && t(`canned.fault_${fault.kind}`, { text: fault.text })} hint=${t("canned.text_hint")}
          onInput=${(/** @type {any} */ event) => (text.value = event.target.value)} />
        <p class="variables" role="group" aria-label=${t("canned.variables")}>
          ${VARIABLES.map((name) => html`<button type="button" key=${name} onClick=${() => put(name)}><code>${`{{${name}}}`}</code></button>`)}
        </p>
      </div>
      ${!fault && text.value && html`<figure class="preview">
        <figcaption class="hint">${t("canned.preview")}</figcaption>
        <blockquote class="bubble-preview">${fill(text.value, sample())}</blockquote>
      </figure>`}
      ${!reply && isAdmin() && mayOwn && html`<${Field} name="owner" label=${t("canned.whose")} options=${whose} initial="" />`}
      <${ChannelsField} initial=${reply?.channels ?? null} />
      <footer>
        <button type="button" onClick=${onClose}>${t("cancel")}</button>
        <${Send} disabled=${fault !== null}>${t("save")}</${Send}>
      </footer>
    </${Form}>
  </${Dialog}>`;
}

/** For whom the text is shown filled in. */
const sample = () => ({
  "contact.name": t("canned.sample_name"),
  "contact.first_name": t("canned.sample_name").split(" ")[0],
  "contact.phone": "+65 8000 0001",
  "agent.name": me.value?.name,
  "channel.title": t("canned.sample_channel"),
});
