// Calling a person who looks elsewhere: the number in the title, a sound, a notification, and words for who listens.

import { effect, signal } from "../vendor/preact.js";
import { conversation, needed, needsPerson } from "../state/conversations.js";
import { hear } from "../state/feed.js";
import { inboxAt } from "../state/filter.js";
import { preferences } from "../state/preferences.js";
import { go, route } from "../state/route.js";
import { me } from "../state/session.js";
import { isLookedAt } from "../parts/looked.js";
import { number, t, word } from "../words/index.js";
import { join } from "./calling.js";
import { actorName, authorName, contactName } from "./names.js";
import { summary } from "./summary.js";

/** @import * as Wire from "../../types/wire.js" */

const NAME = "Baton";
/** However many need somebody at once, they ring once. */
const QUIET_MS = 3_000;
const TONES_HZ = [660, 880];
const TONE_S = 0.14;

/** What a reader is told of: the newest. `nth` tells the same words that are said again from those that stand there. */
export const announcement = signal({ nth: 0, text: "" });

/** @param {string} text */
const announce = (text) => void (announcement.value = { nth: announcement.peek().nth + 1, text });

/** Begins; returns what ends it. */
export function begin() {
  const tabs = join(`baton.calls.${me.peek()?.id ?? ""}`);
  const ends = [effect(title), hear((event) => attend(event, tabs.offer)), tabs.leave, () => (document.title = NAME)];
  // The moment at which a finger is lifted counts as a touch, the one at which it is put down does not.
  for (const touch of ["pointerup", "keydown"]) {
    addEventListener(touch, wake);
    ends.push(() => removeEventListener(touch, wake));
  }
  return () => ends.forEach((end) => end());
}

function title() {
  const { id, page } = route.value;
  const it = id && page === "inbox" ? conversation(id).value : null;
  const place = it ? contactName(it) : word("nav", page.replace("-", "_"));
  document.title = `${needed.value > 0 ? `(${number(needed.value)}) ` : ""}${place} · ${NAME}`;
}

/** @param {Wire.Event} event @param {ReturnType<typeof join>["offer"]} offer */
function attend(event, offer) {
  if (event.type === "conversation_erased") return takeBack(event.conversation_id ?? "");
  const it = event.conversation;
  if (!it) return;
  const isOpen = route.peek().id === it.id;
  const isSeen = isOpen && isLookedAt.peek();
  if (isOpen && event.message && isSaid(event, event.message)) {
    const name = event.type === "message_received" ? contactName(it) : authorName(event.message);
    announce(t("alert.message", { name, text: words(event.message) }));
  }
  const reason = reasonOf(event, it);
  if (!reason) return;
  if (!isOpen) announce(t("alert.needs", { name: contactName(it), reason }));
  offer(event.id, { isSeen, isLookedAt: isLookedAt.peek(), canRing: sound?.state === "running" }, ({ rings, notifies }) => {
    if (rings) ring();
    // Why, and not what was written: it is shown on locked screens too.
    if (notifies) notify(it, reason);
  });
}

/** Whether it is something new to read, of anybody but who sits here. @param {Wire.Event} event @param {Wire.Message} message */
function isSaid({ type }, message) {
  if (type === "message_received") return true;
  if (message.agent !== null && message.agent.id === me.peek()?.id) return false;
  // What nobody put in line here is seen once it has gone.
  return type === "message_queued" || type === "note_added" || (type === "message_sent" && ["phone", "other_system"].includes(message.origin));
}

/** Why somebody is called; null: nobody is, or not whoever sits here. @param {Wire.Event} event @param {Wire.Conversation} it */
function reasonOf({ type, action, actor, details }, it) {
  if (type === "attention_raised" || type === "message_received") {
    if (!needsPerson(it) || !isMine(it)) return null;
    return it.attention ? word("attention", it.attention.reason) : t("alert.wrote");
  }
  const mine = me.peek()?.id;
  if (type !== "conversation_updated" || it.assignee?.id !== mine) return null;
  if (action === "assigned" && details.assignee === mine && actor !== `agent:${mine}`) return t("alert.assigned", { who: actorName(actor) });
  // Where a person answers, nothing but the end of a snooze opens one by itself.
  return action === "opened" && actor === "system" && it.mode === "HUMAN" ? t("alert.snoozed") : null;
}

/** A colleague's conversation calls the colleague. @param {Wire.Conversation} it */
const isMine = (it) => it.assignee === null || it.assignee.id === me.peek()?.id;

/** @param {Wire.Message} it */
function words(it) {
  const { kind, text } = summary(it);
  return [kind && word("kind", kind), text].filter(Boolean).join(": ");
}

/** @type {AudioContext | null} */
let sound = null;
let rangAt = 0;
/** What stands on the screen beside the page, by conversation. @type {Map<string, Notification>} */
const standing = new Map();

/** A browser lets a page sound only after somebody has touched it; and again after a call or another page has taken the sound. */
function wake() {
  sound ??= new AudioContext();
  // While something else still has it: the next touch tries again.
  if (sound.state !== "running") sound.resume().catch(() => {});
}

function ring() {
  if (!preferences.peek().sound || Date.now() - rangAt < QUIET_MS) return;
  rangAt = Date.now();
  TONES_HZ.forEach((hertz, at) => {
    const { currentTime, destination } = /** @type {AudioContext} */ (sound);
    const from = currentTime + at * TONE_S;
    const tone = new OscillatorNode(/** @type {AudioContext} */ (sound), { frequency: hertz });
    const loud = new GainNode(/** @type {AudioContext} */ (sound), { gain: 0 });
    // Swells and fades, or it would click.
    loud.gain.setTargetAtTime(0.12, from, 0.01);
    loud.gain.setTargetAtTime(0, from + TONE_S * 0.7, 0.04);
    tone.connect(loud).connect(destination);
    tone.start(from);
    tone.stop(from + TONE_S * 3);
  });
}

/** Asked for in the settings, by a click, and never here. @param {Wire.Conversation} it @param {string} body */
function notify(it, body) {
  if (!preferences.peek().notifications || !("Notification" in globalThis) || Notification.permission !== "granted") return;
  try {
    // One stands for each contact; what they write next is called for anew.
    const how = /** @type {NotificationOptions} */ ({ body, tag: it.id, renotify: true });
    const shown = new Notification(t("alert.title", { name: contactName(it) }), how);
    standing.set(it.id, shown);
    shown.onclick = () => {
      window.focus();
      go(inboxAt({ group: "needs_you" }, it.id));
      shown.close();
    };
  } catch {
    // Phones let only a service worker notify: there the title and the sound must do.
  }
}

/** Of somebody who is erased neither name nor words are shown or read out any more. @param {string} id */
function takeBack(id) {
  standing.get(id)?.close();
  standing.delete(id);
  announce("");
}
