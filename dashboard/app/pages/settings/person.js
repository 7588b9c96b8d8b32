// One person: added, or changed. Who is added gets a link, which is shown once.

import { html, useSignal } from "../../vendor/preact.js";
import { patch, post } from "../../wire/api.js";
import { t, word } from "../../words/index.js";
import { Copyable } from "../../parts/copy.js";
import { Dialog } from "../../parts/dialog.js";
import { Field, Form, Send } from "../../parts/form.js";
import { say } from "../../parts/toast.js";
import { changed } from "../changed.js";
import { ChannelsField, channelsOf } from "./channels_field.js";

/** @import * as Wire from "../../../types/wire.js" */

const ROLES = ["agent", "admin"];

/** @param {{agent: Wire.Agent | null, onChanged: () => void, onClose: () => void}} props without an agent, one is added */
export function PersonForm({ agent, onChanged, onClose }) {
  const link = useSignal("");

  /** @param {FormData} given */
  async function send(given) {
    const body = { name: given.get("name"), email: given.get("email"), role: given.get("role"), channels: channelsOf(given) };
    if (agent) {
      await patch(`/agents/${agent.id}`, changed(body, agent));
      say(t("saved"));
      onChanged();
      return onClose();
    }
    const { channels, ...rest } = body;
    const added = await post("/agents", { ...rest, ...(channels && { channels }) });
    link.value = whole(added.link);
    onChanged();
  }

  if (link.value) return html`<${FreshLink} title=${t("people.added")} text=${t("people.link_text")} link=${link.value} onClose=${onClose} />`;
  return html`<${Dialog} title=${agent ? t("edit.what", { what: agent.name }) : t("people.add")} onClose=${onClose}>
    <${Form} onSend=${send} words=${(/** @type {import("../../wire/api.js").Problem} */ problem) => (problem.status !== 409 ? null : t(problem.code === "last_admin" ? "people.last_admin" : "people.taken"))}>
      <${Field} name="name" label=${t("you.name")} initial=${agent?.name} autofocus required maxlength="100" autocomplete="off" />
      <${Field} name="email" type="email" label=${t("sign_in.email")} hint=${t("people.email_hint")} initial=${agent?.email} required maxlength="254" autocomplete="off" />
      <${Field} name="role" label=${t("role")} hint=${t("people.role_hint")} initial=${agent?.role ?? "agent"} options=${ROLES.map((value) => ({ value, words: word("role", value) }))} />
      <${ChannelsField} initial=${agent?.channels ?? null} hint=${t("people.channels_hint")} />
      <footer>
        <button type="button" onClick=${onClose}>${t("cancel")}</button>
        <${Send}>${agent ? t("save") : t("people.add_it")}</${Send}>
      </footer>
    </${Form}>
  </${Dialog}>`;
}

/** A link that was just made, shown this once. @param {{title: string, text: string, link: string, onClose: () => void}} props */
export function FreshLink({ title, text, link, onClose }) {
  return html`<${Dialog} once title=${title} onClose=${onClose}>
    <p>${text}</p>
    <${Copyable} label=${t("people.link")} text=${link} hint=${t("people.link_hint")} />
    <footer><button class="is-primary" onClick=${onClose}>${t("done")}</button></footer>
  </${Dialog}>`;
}

/** A server that does not know its own address gives the path alone. @param {string} link */
export const whole = (link) => new URL(link, location.origin).href;
