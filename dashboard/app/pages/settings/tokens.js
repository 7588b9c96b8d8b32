// Tokens: how other programs use the API. A token is shown once, when it is made.

import { html, useSignal } from "../../vendor/preact.js";
import { agents } from "../../state/shelf.js";
import { post, remove } from "../../wire/api.js";
import { serverNow } from "../../wire/server_time.js";
import { lately, moment, t, word } from "../../words/index.js";
import { useHeard, useListed } from "../../parts/asked.js";
import { Copyable } from "../../parts/copy.js";
import { Confirm, Dialog } from "../../parts/dialog.js";
import { Field, Form, Send } from "../../parts/form.js";
import { Icon } from "../../parts/icon.js";
import { Listing, Table } from "../listing.js";
import { say, sayProblem } from "../../parts/toast.js";
import { ChannelsField, channelWords, channelsOf } from "./channels_field.js";

/** @import * as Wire from "../../../types/wire.js" */

const ROLES = ["read", "agent", "admin", "metrics"];
/** Days, as offered; an empty one never ends. */
const LIVES = ["", "30", "90", "365"];
const DAY_MS = 86_400_000;

export function Tokens() {
  /** @type {import("../../parts/asked.js").Listed<Wire.Token>} */
  const listed = useListed("/tokens");
  useHeard((event) => event.type === "token_updated", listed.again);
  const isMaking = useSignal(false);
  /** @type {import("../../vendor/preact.js").Signal<Wire.Token | null>} */
  const leaving = useSignal(null);

  /** @param {Wire.Token} token */
  async function revoke(token) {
    await remove(`/tokens/${token.id}`).then(() => say(t("tokens.revoked", { name: token.name })), sayProblem);
    await listed.again();
  }
  const people = agents.items.value;
  // Held here: the dialog closes before it acts.
  const leaver = leaving.value;
  return html`
    <header>
      <h1>${t("settings.tokens")}</h1>
      ${!listed.problem?.isNotThere && html`<button class="is-primary" onClick=${() => (isMaking.value = true)}><${Icon} name="plus" /> ${t("tokens.make")}</button>`}
    </header>
    <p class="lead">${t("tokens.lead")} <a href="/docs" target="_blank" rel="noreferrer">${t("tokens.docs")}</a></p>
    <${Listing} listed=${listed} empty=${t("tokens.empty")} missing=${t("tokens.missing")}>
      ${(/** @type {Wire.Token[]} */ items) => html`<${Table} label=${t("settings.tokens")} items=${items} id=${(/** @type {Wire.Token} */ it) => it.id} columns=${columns(people, leaving)} />`}
    </${Listing}>
    ${isMaking.value && html`<${NewToken} people=${people} onChanged=${listed.again} onClose=${() => (isMaking.value = false)} />`}
    ${leaver && html`<${Confirm} title=${t("tokens.revoke_title", { name: leaver.name })} text=${t("tokens.revoke_text")} verb=${t("tokens.revoke")}
      onYes=${() => void revoke(leaver)} onClose=${() => (leaving.value = null)} />`}`;
}

/**
 * @param {Wire.Agent[]} people @param {import("../../vendor/preact.js").Signal<Wire.Token | null>} leaving
 * @returns {import("../listing.js").Column<Wire.Token>[]}
 */
function columns(people, leaving) {
  return [
    { words: t("you.name"), isHead: true, cell: (it) => it.name },
    { words: t("role"), cell: (it) => word("role", it.role) },
    { words: t("channels"), cell: (it) => channelWords(it.channels) },
    { words: t("tokens.acts_as"), cell: (it) => (it.agent_id ? people.find(({ id }) => id === it.agent_id)?.name ?? it.agent_id : t("tokens.itself")) },
    { words: t("tokens.made"), cell: (it) => html`<time datetime=${it.created_at} title=${moment(it.created_at)}>${lately(it.created_at)}</time>` },
    { words: t("tokens.ends"), cell: (it) => (it.expires_at ? ending(it.expires_at) : t("tokens.never")) },
    { words: t("actions"), look: "is-actions", cell: (it) => html`<button onClick=${() => (leaving.value = it)} aria-label=${t("tokens.revoke.which", { name: it.name })}>${t("tokens.revoke")}</button>` },
  ];
}

/** @param {string} at */
function ending(at) {
  const isOver = Date.parse(at) <= serverNow();
  return html`<time datetime=${at} title=${moment(at)}>${lately(at)}</time> ${isOver && html`<span class="tag is-warn">${t("tokens.over")}</span>`}`;
}

/** @param {{people: Wire.Agent[], onChanged: () => void, onClose: () => void}} props */
function NewToken({ people, onChanged, onClose }) {
  const token = useSignal("");
  const role = useSignal("read");

  /** @param {FormData} given */
  async function send(given) {
    const [channels, days, agent] = [channelsOf(given), Number(given.get("days")), given.get("agent_id")];
    const made = await post("/tokens", {
      name: given.get("name"),
      role: given.get("role"),
      ...(channels && { channels }),
      ...(agent && { agent_id: agent }),
      ...(days && { expires_at: new Date(serverNow() + days * DAY_MS).toISOString() }),
    });
    token.value = made.token;
    onChanged();
  }
  if (token.value) {
    return html`<${Dialog} once title=${t("tokens.made_now")} onClose=${onClose}>
      <p>${t("tokens.once")}</p>
      <${Copyable} label=${t("tokens.token")} text=${token.value} />
      <${Copyable} label=${t("tokens.header")} text=${`Authorization: Bearer ${token.value}`} hint=${t("tokens.header_hint")} />
      <footer><button class="is-primary" onClick=${onClose}>${t("done")}</button></footer>
    </${Dialog}>`;
  }
  // A token acts for nobody who is not let in.
  const actors = people.filter((it) => !it.disabled);
  return html`<${Dialog} title=${t("tokens.make")} onClose=${onClose}>
    <${Form} onSend=${send}>
      <${Field} name="name" label=${t("you.name")} hint=${t("tokens.name_hint")} autofocus required maxlength="100" autocomplete="off" />
      <${Field} name="role" label=${t("role")} hint=${word("token_role", role.value)} initial="read" options=${ROLES.map((value) => ({ value, words: word("role", value) }))}
        onChange=${(/** @type {any} */ event) => (role.value = event.target.value)} />
      <${ChannelsField} initial=${null} />
      ${actors.length > 0 && html`<${Field} name="agent_id" label=${t("tokens.acts_as")} hint=${t("tokens.acts_as_hint")}
        options=${[{ value: "", words: t("tokens.itself") }, ...actors.map(({ id, name }) => ({ value: id, words: name }))]} />`}
      <${Field} name="days" label=${t("tokens.ends")} initial="90" options=${LIVES.map((value) => ({ value, words: value ? t("tokens.days", { count: Number(value) }) : t("tokens.never") }))} />
      <footer>
        <button type="button" onClick=${onClose}>${t("cancel")}</button>
        <${Send}>${t("tokens.make")}</${Send}>
      </footer>
    </${Form}>
  </${Dialog}>`;
}
