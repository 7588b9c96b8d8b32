// All settings as they are in force: to look up, not to change. Where each is changed is said above them.

import { html, useSignal } from "../../vendor/preact.js";
import { span, t, word } from "../../words/index.js";
import { useAsked } from "../../parts/asked.js";
import { Listing, Table } from "../listing.js";

/** @import * as Wire from "../../../types/wire.js" */

export function AllSettings() {
  const { answer, problem, again } = useAsked("/settings");
  const wanted = useSignal("");
  const isChosenOnly = useSignal(false);
  const items = /** @type {Wire.Setting[] | null} */ (answer?.items ?? null);
  const words = wanted.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const found = items && items.filter((it) => {
    const text = `${it.name} ${it.value ?? ""} ${it.channel_key ?? ""}`.toLowerCase();
    return words.every((part) => text.includes(part)) && (!isChosenOnly.value || it.source !== "default");
  });
  const listed = { items: found, problem, hasMore: false, more: again, again };
  return html`
    <header><h1>${t("settings.all")}</h1></header>
    <p class="lead">${t("all.lead")}</p>
    <p class="lead">${t("all.how")} <a href="/settings/channels" data-within>${t("all.to_channels")}</a></p>
    <search class="filters">
      <label>${t("all.search")}<input type="search" value=${wanted.value} onInput=${(/** @type {any} */ event) => (wanted.value = event.target.value)} /></label>
      <label class="is-check"><input type="checkbox" checked=${isChosenOnly.value} onChange=${(/** @type {any} */ event) => (isChosenOnly.value = event.target.checked)} /><span>${t("all.chosen_only")}</span></label>
      <p class="hint" role="status">${found && t("all.count", { count: found.length })}</p>
    </search>
    <${Listing} listed=${listed} empty=${t("all.empty")} missing=${t("all.missing")}>
      ${(/** @type {Wire.Setting[]} */ shown) => html`<${Table} label=${t("settings.all")} items=${shown} id=${(/** @type {Wire.Setting} */ it) => it.name} columns=${columns()} />`}
    </${Listing}>`;
}

/** @returns {import("../listing.js").Column<Wire.Setting>[]} */
function columns() {
  return [
    { words: t("all.name"), isHead: true, cell: (it) => html`<code>${it.name}</code>` },
    { words: t("all.value"), look: "is-wide", cell: valueOf },
    { words: t("all.source"), cell: (it) => it.set && word("source", it.source) },
    { words: t("all.channel_key"), cell: (it) => it.channel_key && html`<code>${it.channel_key}</code>` },
  ];
}

/** @param {Wire.Setting} it */
function valueOf(it) {
  if (it.value === null) return html`<span class="soft">${it.set ? t("all.hidden") : t("all.unset")}</span>`;
  const ms = it.name.endsWith("_MS") ? Number(it.value) : Number.NaN;
  return html`<code>${it.value}</code> ${ms >= 1_000 && html`<span class="soft">(${span(ms)})</span>`}`;
}
