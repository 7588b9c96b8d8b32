// Canned replies: shared ones, which admins write, and one's own.

import { html, useSignal } from "../../vendor/preact.js";
import { isAdmin, mayAct, me, seesAllOf } from "../../state/session.js";
import { remove } from "../../wire/api.js";
import { t } from "../../words/index.js";
import { useHeard, useListed } from "../../parts/asked.js";
import { Confirm } from "../../parts/dialog.js";
import { Icon } from "../../parts/icon.js";
import { Listing, Table } from "../listing.js";
import { say, sayProblem } from "../../parts/toast.js";
import { read } from "./variables.js";
import { ReplyForm } from "./canned_reply.js";
import { channelWords } from "./channels_field.js";

/** @import * as Wire from "../../../types/wire.js" */
/** @typedef {Wire.CannedReply} Reply */

/** A token that acts as nobody has no replies of its own. */
const isSomebody = () => Boolean(me.value?.email);

export function CannedReplies() {
  /** @type {import("../../parts/asked.js").Listed<Reply>} */
  const listed = useListed("/canned-replies");
  /** @type {import("../../vendor/preact.js").Signal<Reply | "new" | null>} */
  const edited = useSignal(null);
  /** @type {import("../../vendor/preact.js").Signal<Reply | null>} */
  const leaving = useSignal(null);
  useHeard((event) => event.type === "canned_reply_updated", listed.again);
  const mayAdd = !listed.problem?.isNotThere && (isAdmin() || (mayAct() && isSomebody()));

  /** @param {Reply} reply */
  async function drop(reply) {
    await remove(`/canned-replies/${reply.id}`).then(() => say(t("removed", { what: `/${reply.shortcut}` })), sayProblem);
    await listed.again();
  }
  /** @param {Reply[]} replies @param {import("../../words/index.js").Key} title */
  const group = (replies, title) => replies.length > 0 && html`
    <section class="group">
      <h2>${t(title)}</h2>
      <${Table} label=${t(title)} items=${replies} id=${(/** @type {Reply} */ it) => it.id} columns=${columns(edited, leaving)} />
    </section>`;
  // Held here: the dialog closes before it acts.
  const leaver = leaving.value;
  return html`
    <header>
      <h1>${t("settings.canned_replies")}</h1>
      ${mayAdd && html`<button class="is-primary" onClick=${() => (edited.value = "new")}><${Icon} name="plus" /> ${t("canned.make")}</button>`}
    </header>
    <p class="lead">${t("canned.lead")}</p>
    <${Listing} listed=${listed} empty=${t("canned.empty")} missing=${t("canned.missing")}>
      ${(/** @type {Reply[]} */ items) => html`
        ${group(items.filter(({ owner }) => owner === null), "canned.shared")}
        ${group(items.filter(({ owner }) => owner !== null), "canned.own")}`}
    </${Listing}>
    ${edited.value && html`<${ReplyForm} reply=${edited.value === "new" ? null : edited.value} mayOwn=${isSomebody()} onChanged=${listed.again} onClose=${() => (edited.value = null)} />`}
    ${leaver && html`<${Confirm} title=${t("remove.what", { what: `/${leaver.shortcut}` })} text=${t("canned.remove_text")} verb=${t("remove")}
      onYes=${() => void drop(leaver)} onClose=${() => (leaving.value = null)} />`}`;
}

/** One's own, and as an admin those of everybody that are for no channel of which they know nothing. @param {Reply} it */
export const mayChange = (it) => it.owner !== null || (isAdmin() && seesAllOf(it.channels));

/**
 * @param {import("../../vendor/preact.js").Signal<Reply | "new" | null>} edited
 * @param {import("../../vendor/preact.js").Signal<Reply | null>} leaving
 * @returns {import("../listing.js").Column<Reply>[]}
 */
function columns(edited, leaving) {
  return [
    { words: t("canned.shortcut"), isHead: true, cell: (it) => html`<code>/${it.shortcut}</code>` },
    { words: t("canned.text"), look: "is-wide", cell: (it) => html`<${Template} text=${it.text} />` },
    { words: t("channels"), cell: (it) => channelWords(it.channels) },
    {
      words: t("actions"),
      look: "is-actions",
      cell: (it) => mayChange(it) && html`
        <button onClick=${() => (edited.value = it)} aria-label=${t("edit.what", { what: `/${it.shortcut}` })}>${t("edit")}</button>
        <button onClick=${() => (leaving.value = it)} aria-label=${t("remove.what", { what: `/${it.shortcut}` })}>${t("remove")}</button>`,
    },
  ];
}

/** The text as it was written, its variables told from it. @param {{text: string}} props */
function Template({ text }) {
  const { pieces, fault } = read(text);
  // One that this page cannot read is shown as it is.
  if (fault) return html`<span class="template">${text}</span>`;
  return html`<span class="template">${pieces.map((piece) => (piece.name === undefined ? piece.text : html`<code class="variable">${piece.text}</code>`))}</span>`;
}
