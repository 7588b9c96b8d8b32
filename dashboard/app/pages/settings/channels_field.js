// On which channels something holds: all of them, or some. As a table says it, and as part of a form.

import { html, useId, useSignal } from "../../vendor/preact.js";
import { me } from "../../state/session.js";
import { channelTitle, channels } from "../../state/shelf.js";
import { Problem } from "../../wire/api.js";
import { t } from "../../words/index.js";

/** By their titles, as everywhere; null is all. @param {string[] | null | undefined} names */
export const channelWords = (names) => names?.map(channelTitle).join(", ") ?? t("channels.every");

/** @param {{initial: string[] | null, hint?: string}} props */
export function ChannelsField({ initial, hint }) {
  const id = useId();
  const isEvery = useSignal(initial === null);
  const items = channels.items.value;
  // One that is named and is no longer there stays, until somebody takes it out.
  const names = [...new Set([...items.map(({ name }) => name), ...(initial ?? [])])];
  // A person with some channels can give no more than those.
  const every = t(me.value?.channels ? "channels.yours" : "channels.every");
  const titles = new Map(items.map(({ name, title }) => [name, title]));
  return html`<fieldset class="one-of is-list" aria-describedby=${hint && id}>
    <legend>${t("channels")}</legend>
    <label><input type="radio" name="channels_are" value="every" checked=${isEvery.value} onChange=${() => (isEvery.value = true)} /><span>${every}</span></label>
    <label><input type="radio" name="channels_are" value="some" checked=${!isEvery.value} onChange=${() => (isEvery.value = false)} /><span>${t("channels.some")}</span></label>
    ${!isEvery.value && html`<div class="of-some">
      ${names.map((name) => html`<label class="is-check" key=${name}>
        <input type="checkbox" name="channels" value=${name} defaultChecked=${initial?.includes(name)} /><span>${titles.get(name) || name}</span>
      </label>`)}
    </div>`}
    ${hint && html`<p class="hint" id=${id}>${hint}</p>`}
  </fieldset>`;
}

/** What was chosen, as the API takes it; null is all. @param {FormData} given @returns {string[] | null} */
export function channelsOf(given) {
  if (given.get("channels_are") !== "some") return null;
  const names = given.getAll("channels").map(String);
  if (names.length === 0) throw new Problem({ status: 400, code: "invalid", detail: t("channels.choose_one") });
  return names;
}
