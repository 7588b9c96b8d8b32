// The brake on follow-ups: that it is latched, and by what; and the button with which an admin lets them leave again.

import { html, useSignal } from "../../vendor/preact.js";
import { post } from "../../wire/api.js";
import { moment, t } from "../../words/index.js";
import { Confirm } from "../../parts/dialog.js";
import { say, sayProblem } from "../../parts/toast.js";

/** @import * as Wire from "../../../types/wire.js" */

/** Beside the name, in the list. @param {{channel: Wire.Channel}} props */
export const BrakeTag = ({ channel }) => channel.brake && html`<span class="tag is-bad">${t("brake.tag")}</span>`;

/** @param {{channel: Wire.Channel, again: () => Promise<void>}} props */
export function Brake({ channel, again }) {
  const isAsked = useSignal(false);
  if (!channel.brake) return null;
  const { since, sends, best } = channel.brake;
  async function release() {
    try {
      await post(`/channels/${encodeURIComponent(channel.name)}/release-brake`);
      say(t("brake.done"));
      await again();
    } catch (error) {
      sayProblem(error);
    }
  }
  return html`<section class="card is-split" aria-labelledby="channel-brake">
    <h2 id="channel-brake">${t("brake.title")}</h2>
    <p>${t("brake.why", { at: moment(since), sends, best })}</p>
    <p class="todo"><strong>${t("channels.todo")}</strong> ${t("brake.todo")} <a href="/follow-ups" data-within>${t("nav.follow_ups")}</a></p>
    <p><button onClick=${() => (isAsked.value = true)}>${t("brake.release")}</button></p>
    ${isAsked.value && html`<${Confirm} title=${t("brake.sure")} text=${t("brake.text")} verb=${t("brake.release")}
      onYes=${() => void release()} onClose=${() => (isAsked.value = false)} />`}
  </section>`;
}
