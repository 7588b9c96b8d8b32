// People: who of the business may come in, and what they may do. Admins change it; the others see who there is.

import { html, useSignal } from "../../vendor/preact.js";
import { isAdmin, me } from "../../state/session.js";
import { patch, post } from "../../wire/api.js";
import { uuid } from "../../wire/random.js";
import { t, word } from "../../words/index.js";
import { useHeard, useListed } from "../../parts/asked.js";
import { Confirm } from "../../parts/dialog.js";
import { Icon } from "../../parts/icon.js";
import { Listing, Table } from "../listing.js";
import { say, sayProblem } from "../../parts/toast.js";
import { Problem } from "../../wire/api.js";
import { channelWords } from "./channels_field.js";
import { FreshLink, PersonForm, whole } from "./person.js";

/** @import * as Wire from "../../../types/wire.js" */

export function People() {
  /** @type {import("../../parts/asked.js").Listed<Wire.Agent>} */
  const listed = useListed("/agents");
  useHeard((event) => event.type === "agent_updated" && event.action !== "preferences", listed.again);
  /** Whom the form is about; `new` is somebody to be added. @type {import("../../vendor/preact.js").Signal<Wire.Agent | "new" | null>} */
  const edited = useSignal(null);
  /** @type {import("../../vendor/preact.js").Signal<Wire.Agent | null>} */
  const leaving = useSignal(null);
  /** @type {import("../../vendor/preact.js").Signal<{agent: Wire.Agent, link: string} | null>} */
  const linked = useSignal(null);
  const mayChange = isAdmin() && !listed.problem?.isNotThere;

  /** @param {Wire.Agent} agent @param {boolean} disabled */
  async function set(agent, disabled) {
    try {
      /** @type {{conversations_freed?: number}} */
      const { conversations_freed: freed } = await patch(`/agents/${agent.id}`, { disabled });
      say(freed ? t("people.disabled_freed", { name: agent.name, count: freed }) : t(disabled ? "people.disabled_now" : "people.enabled_now", { name: agent.name }));
    } catch (error) {
      if (error instanceof Problem && error.status === 409) say(t("people.last_admin"));
      else sayProblem(error);
    }
    await listed.again();
  }

  /** @param {Wire.Agent} agent */
  async function link(agent) {
    try {
      /** @type {{link: string}} */
      const made = await post(`/agents/${agent.id}/link`, undefined, { key: uuid() });
      linked.value = { agent, link: whole(made.link) };
    } catch (error) {
      sayProblem(error);
    }
  }

  // Held here: the dialog closes before it acts.
  const leaver = leaving.value;
  return html`
    <header>
      <h1>${t("settings.people")}</h1>
      ${mayChange && html`<button class="is-primary" onClick=${() => (edited.value = "new")}><${Icon} name="plus" /> ${t("people.add")}</button>`}
    </header>
    <p class="lead">${t(isAdmin() ? "people.lead" : "people.lead_agent")}</p>
    <${Listing} listed=${listed} empty=${t("people.empty")} missing=${t("people.missing")}>
      ${(/** @type {Wire.Agent[]} */ items) => html`<${Table} label=${t("settings.people")} items=${items} id=${(/** @type {Wire.Agent} */ it) => it.id}
        look=${(/** @type {Wire.Agent} */ it) => (it.disabled ? "is-off" : "")}
        columns=${[...columns(), ...(mayChange ? [actions()] : [])]} />`}
    </${Listing}>
    ${edited.value && html`<${PersonForm} agent=${edited.value === "new" ? null : edited.value} onChanged=${listed.again} onClose=${() => (edited.value = null)} />`}
    ${linked.value && html`<${FreshLink} title=${t("people.link_for", { name: linked.value.agent.name })} text=${t("people.link_again_text")}
      link=${linked.value.link} onClose=${() => (linked.value = null)} />`}
    ${leaver && html`<${Confirm} title=${t("people.disable_title", { name: leaver.name })} text=${t("people.disable_text")} verb=${t("people.disable")}
      onYes=${() => void set(leaver, true)} onClose=${() => (leaving.value = null)} />`}`;

  /** @returns {import("../listing.js").Column<Wire.Agent>} */
  function actions() {
    return {
      words: t("actions"),
      look: "is-actions",
      cell: (agent) => html`
        <button onClick=${() => (edited.value = agent)} aria-label=${t("edit.what", { what: agent.name })}>${t("edit")}</button>
        ${agent.disabled
          ? html`<button onClick=${() => void set(agent, false)} aria-label=${t("people.enable.whom", { name: agent.name })}>${t("people.enable")}</button>`
          : agent.id !== me.value?.id && html`
            <button onClick=${() => void link(agent)} aria-label=${t("people.link.whom", { name: agent.name })}>${t("people.link")}</button>
            <button onClick=${() => (leaving.value = agent)} aria-label=${t("people.disable.whom", { name: agent.name })}>${t("people.disable")}</button>`}`,
    };
  }
}

/** What an agent does not see of others has no column. @returns {import("../listing.js").Column<Wire.Agent>[]} */
function columns() {
  /** @type {import("../listing.js").Column<Wire.Agent>[]} */
  const all = [{
    words: t("you.name"),
    isHead: true,
    cell: (it) => html`${it.name} ${it.id === me.value?.id && html`<span class="tag">${t("people.you")}</span>`}
      ${it.disabled && html`<span class="tag is-warn">${t("people.disabled")}</span>`}`,
  }];
  if (!isAdmin()) return all;
  return [
    ...all,
    { words: t("sign_in.email"), cell: (it) => it.email },
    { words: t("role"), cell: (it) => word("role", it.role) },
    { words: t("channels"), cell: (it) => channelWords(it.channels) },
  ];
}
