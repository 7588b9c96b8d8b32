// Labels: words that people put on conversations. Admins of all channels make them; everybody uses them.

import { html, useSignal } from "../../vendor/preact.js";
import { isAdminOfAll } from "../../state/session.js";
import { patch, post, remove } from "../../wire/api.js";
import { t } from "../../words/index.js";
import { useHeard, useListed } from "../../parts/asked.js";
import { Confirm, Dialog } from "../../parts/dialog.js";
import { Field, Form, Send } from "../../parts/form.js";
import { Icon } from "../../parts/icon.js";
import { LabelTag } from "./label_tag.js";
import { Listing, Table } from "../listing.js";
import { say, sayProblem } from "../../parts/toast.js";
import { changed } from "../changed.js";

/** @import * as Wire from "../../../types/wire.js" */

/** What a new label has until another colour is chosen. */
const COLOUR = "#17635c";

/** @param {Wire.Label} label */
const path = (label) => `/labels/${encodeURIComponent(label.name)}`;

export function Labels() {
  /** @type {import("../../parts/asked.js").Listed<Wire.Label>} */
  const listed = useListed("/labels");
  /** @type {import("../../vendor/preact.js").Signal<Wire.Label | "new" | null>} */
  const edited = useSignal(null);
  /** @type {import("../../vendor/preact.js").Signal<Wire.Label | null>} */
  const leaving = useSignal(null);
  useHeard((event) => event.type === "label_updated", listed.again);
  const mayChange = isAdminOfAll() && !listed.problem?.isNotThere;

  /** @param {Wire.Label} label */
  async function drop(label) {
    await remove(path(label)).then(() => say(t("removed", { what: label.name })), sayProblem);
    await listed.again();
  }
  // Held here: the dialog closes before it acts.
  const leaver = leaving.value;
  return html`
    <header>
      <h1>${t("settings.labels")}</h1>
      ${mayChange && html`<button class="is-primary" onClick=${() => (edited.value = "new")}><${Icon} name="plus" /> ${t("labels.make")}</button>`}
    </header>
    <p class="lead">${t("labels.lead")}</p>
    <${Listing} listed=${listed} empty=${t(mayChange ? "labels.empty" : "labels.empty_agent")} missing=${t("labels.missing")}>
      ${(/** @type {Wire.Label[]} */ items) => html`<${Table} label=${t("settings.labels")} items=${items} id=${(/** @type {Wire.Label} */ it) => it.name}
        columns=${columns(mayChange, edited, leaving)} />`}
    </${Listing}>
    ${edited.value && html`<${LabelForm} label=${edited.value === "new" ? null : edited.value} onChanged=${listed.again} onClose=${() => (edited.value = null)} />`}
    ${leaver && html`<${Confirm} title=${t("remove.what", { what: leaver.name })} text=${t("labels.remove_text")} verb=${t("remove")}
      onYes=${() => void drop(leaver)} onClose=${() => (leaving.value = null)} />`}`;
}

/**
 * @param {boolean} mayChange
 * @param {import("../../vendor/preact.js").Signal<Wire.Label | "new" | null>} edited
 * @param {import("../../vendor/preact.js").Signal<Wire.Label | null>} leaving
 */
function columns(mayChange, edited, leaving) {
  /** @type {import("../listing.js").Column<Wire.Label>[]} */
  const all = [
    { words: t("labels.label"), isHead: true, cell: (it) => html`<${LabelTag} name=${it.name} colour=${it.colour} />` },
    { words: t("labels.description"), look: "is-wide", cell: (it) => it.description || html`<span class="soft">${t("none")}</span>` },
  ];
  return !mayChange ? all : [...all, {
    words: t("actions"),
    look: "is-actions",
    cell: (/** @type {Wire.Label} */ it) => html`
      <button onClick=${() => (edited.value = it)} aria-label=${t("edit.what", { what: it.name })}>${t("edit")}</button>
      <button onClick=${() => (leaving.value = it)} aria-label=${t("remove.what", { what: it.name })}>${t("remove")}</button>`,
  }];
}

/** @param {{label: Wire.Label | null, onChanged: () => void, onClose: () => void}} props without a label, one is made */
function LabelForm({ label, onChanged, onClose }) {
  const name = useSignal(label?.name ?? "");
  const colour = useSignal(label?.colour ?? COLOUR);

  /** @param {FormData} given */
  async function send(given) {
    const body = { name: given.get("name"), colour: given.get("colour"), description: given.get("description") || null };
    await (label ? patch(path(label), changed(body, label)) : post("/labels", body));
    say(t("saved"));
    onChanged();
    onClose();
  }
  return html`<${Dialog} title=${label ? t("edit.what", { what: label.name }) : t("labels.make")} onClose=${onClose}>
    <${Form} onSend=${send} words=${(/** @type {import("../../wire/api.js").Problem} */ problem) => (problem.status === 409 ? t("labels.taken") : null)}>
      <${Field} name="name" label=${t("you.name")} initial=${label?.name} autofocus required maxlength="50" autocomplete="off"
        hint=${label && t("labels.rename_hint")} onInput=${(/** @type {any} */ event) => (name.value = event.target.value)} />
      <${Field} name="colour" type="color" label=${t("labels.colour")} initial=${label?.colour ?? COLOUR} onInput=${(/** @type {any} */ event) => (colour.value = event.target.value)} />
      <${Field} name="description" label=${t("labels.description")} hint=${t("labels.description_hint")} initial=${label?.description} maxlength="200" autocomplete="off" />
      <p class="preview"><span class="hint">${t("labels.preview")}</span> <${LabelTag} name=${name.value || t("you.name")} colour=${colour.value} /></p>
      <footer>
        <button type="button" onClick=${onClose}>${t("cancel")}</button>
        <${Send}>${t("save")}</${Send}>
      </footer>
    </${Form}>
  </${Dialog}>`;
}
