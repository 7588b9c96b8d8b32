// What a conversation, and whoever acts in it, is called.

import { me } from "../state/session.js";
import { agentName } from "../state/shelf.js";
import { language, t, word } from "../words/index.js";

/** @import * as Wire from "../../types/wire.js" */

/** The contact: the name, else the phone, else the chat. @param {Wire.Conversation} it */
export const contactName = (it) => it.contact.name || it.contact.phone || it.chat_id;

/** Whether anybody can be written to there: not in stories, nor in channels that the number follows. @param {Wire.Conversation} it */
export const takesMessages = (it) => !/@(broadcast|newsletter)$/.test(it.chat_id);

/** An actor of the API, as `agent:{id}`. @param {string | null} actor */
export function actorName(actor) {
  if (!actor) return "";
  const [kind, id] = actor.split(/:(.*)/s);
  if (id && id === me.value?.id) return t("you");
  if (kind === "environment" && me.value?.id === "environment") return t("you");
  if (kind === "agent" && id) return agentName(id) ?? t("actor.agent");
  return word("actor", kind);
}

/** Languages in which "you" takes another verb than a name does. */
const BY_NAME = ["es"];

/** An actor of whom a sentence says what they did. @param {string | null} actor */
export function doerName(actor) {
  const name = actorName(actor);
  return BY_NAME.includes(language.value) && name === t("you") ? me.value?.name || t("actor.agent") : name;
}

/** One who works here. @param {{id: string | null, name: string | null}} it */
export const personName = (it) => (it.id !== null && it.id === me.value?.id ? t("you") : it.name || (it.id && agentName(it.id)) || t("actor.agent"));

/** Who answers, for the pill and the list. @param {import("./holder.js").Holder} it */
export function holderName(it) {
  if (it.who === "me") return t("you");
  if (it.who === "agent") return personName(it);
  return word("holder", it.who);
}

/** Who wrote a message. @param {Pick<Wire.Message, "author" | "origin" | "agent" | "sender">} it */
export function authorName(it) {
  if (it.origin === "phone" || it.origin === "other_system") return word("origin", it.origin);
  if (it.author === "agent") return it.agent ? personName(it.agent) : word("author", "agent");
  if (it.author === "contact" && it.sender) return it.sender.name;
  return word("author", it.author);
}
