// What a person decides about a message of ours: withdrawn, taken as arrived, or sent again.

import { html, useSignal } from "../vendor/preact.js";
import { mayAct } from "../state/session.js";
import { Problem, get, post, remove } from "../wire/api.js";
import { Confirm } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { sayProblem } from "../parts/toast.js";
import { t } from "../words/index.js";
import { mends } from "./fates.js";

/** @import * as Wire from "../../types/wire.js" */

/** Withdraws it. To the second who does there is nothing to withdraw any more; but what they want is so. @param {string} id */
export async function withdraw(id) {
  try {
    await remove(`/messages/${id}`);
  } catch (error) {
    if (!(error instanceof Problem && error.isNotThere)) throw error;
    /** @type {Wire.Message} */
    const now = await get(`/messages/${id}`);
    if (now.delivery?.state !== "cancelled") throw error;
  }
}

/** @param {{it: Wire.Message, thread: import("../state/thread.js").Thread}} props */
export function Mends({ it, thread }) {
  const asked = useSignal(/** @type {"confirm" | "retry_unknown" | null} */ (null));
  const isBusy = useSignal(false);
  const all = mayAct() ? mends(it) : [];
  if (all.length === 0) return null;

  /** @param {() => Promise<any>} what */
  async function act(what) {
    isBusy.value = true;
    try {
      await what();
    } catch (error) {
      // It may have moved on by itself: what is shown is read again, and says so.
      sayProblem(error);
    } finally {
      isBusy.value = false;
      thread.lookAgain();
    }
  }
  const retry = () => act(() => post(`/messages/${it.id}/retry`));
  const run = {
    withdraw: () => void act(() => withdraw(it.id)),
    confirm: () => (asked.value = "confirm"),
    retry_unknown: () => (asked.value = "retry_unknown"),
    retry: () => void retry(),
  };
  return html`<p class="mends">
    ${all.map((one) => html`<button key=${one} type="button" disabled=${isBusy.value} onClick=${run[one]}>
      <${Icon} name=${one === "withdraw" ? "undo" : one === "confirm" ? "check" : "retry"} />${t(`mend.${one}`)}</button>`)}
    ${asked.value === "confirm" && html`<${Confirm} title=${t("mend.confirm")} text=${t("mend.confirm_sure")} verb=${t("mend.confirm")}
      onYes=${() => void act(() => post(`/messages/${it.id}/confirm`))} onClose=${() => (asked.value = null)} />`}
    ${asked.value === "retry_unknown" && html`<${Confirm} title=${t("mend.retry_unknown")} text=${t("mend.retry_sure")} verb=${t("mend.retry_unknown")}
      onYes=${() => void retry()} onClose=${() => (asked.value = null)} />`}
  </p>`;
}
