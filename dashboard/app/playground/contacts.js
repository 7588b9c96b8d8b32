// Who can be played: the contacts of the sandbox that have written, and those just made up who have not yet.

import { computed, signal } from "../vendor/preact.js";
import { Problem, get } from "../wire/api.js";
import { keep } from "../state/conversations.js";
import { hear, keepLoaded } from "../state/feed.js";
import { go, route } from "../state/route.js";
import { sandboxProblem } from "./behaviour.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Signal } from "../vendor/preact.js" */

/**
 * @typedef {{chat: string, name: string, conversation: string | null}} Contact
 *   `conversation` is null until the first message was taken.
 */

export const CHANNEL = "sandbox";
/** The picker is for playing, not for finding: the latest suffice. */
const SHOWN_MAX = 100;

/** The latest first. @type {Signal<Contact[]>} */
export const contacts = signal([]);
/** False until the server has said who there is. */
export const isListed = signal(false);
/** Who was played last, for when the address names nobody. */
const last = signal("");

/** Who is being played. */
export const chosen = computed(() => {
  const wanted = route.value.page === "playground" && route.value.id ? route.value.id : last.value;
  return contacts.value.find(({ chat }) => chat === wanted) ?? contacts.value[0] ?? null;
});

/** @param {string} chat @param {{replace?: boolean}} [how] */
export function choose(chat, how) {
  last.value = chat;
  go(`/playground/${encodeURIComponent(chat)}`, how);
}

/** Somebody new, with a number that nobody here has. @param {string} name @param {{replace?: boolean}} [how] */
export function makeUp(name, how) {
  let chat = "";
  do {
    chat = `658${String(Math.floor(Math.random() * 1e7)).padStart(7, "0")}@c.us`;
  } while (contacts.peek().some((it) => it.chat === chat));
  contacts.value = [{ chat, name, conversation: null }, ...contacts.peek()];
  keepName(chat, name);
  choose(chat, how);
  return chat;
}

/** Until they have written, only this browser knows what somebody made up is called: a reload must not lose it. */
const KEY = "baton.made_up";

/** @param {string} chat @param {string} name */
function keepName(chat, name) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ chat, name }));
  } catch {
    // Then they are called by their number.
  }
}

/** @param {string} chat */
function nameOf(chat) {
  try {
    const last = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
    if (last.chat === chat) return String(last.name);
  } catch {
    // As above.
  }
  return phoneOf(chat);
}

/** The number of a chat as people write it. @param {string} chat */
export const phoneOf = (chat) => (/^\d+@c\.us$/.test(chat) ? `+${chat.split("@")[0]}` : chat);

/** @param {Wire.Conversation} it @returns {Contact} */
const asContact = (it) => ({ chat: it.chat_id, name: it.contact.name ?? it.contact.phone ?? phoneOf(it.chat_id), conversation: it.id });

/** @param {Wire.Conversation} it */
function learn(it) {
  const known = contacts.peek();
  const at = known.findIndex(({ chat }) => chat === it.chat_id || it.aliases.includes(chat));
  const mine = asContact(it);
  if (at < 0) contacts.value = [mine, ...known].slice(0, SHOWN_MAX);
  else if (known[at].conversation !== it.id || known[at].name !== mine.name) contacts.value = known.with(at, mine);
}

export async function loadContacts() {
  try {
    await load();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    sandboxProblem.value = error;
  }
}

async function load() {
  /** @type {Wire.Page<Wire.Conversation>} */
  const { items } = await get("/conversations", { channel: CHANNEL, limit: SHOWN_MAX });
  const wanted = route.peek().page === "playground" ? route.peek().id : null;
  if (wanted && !items.some((it) => it.chat_id === wanted)) {
    const found = await get("/conversations", { channel: CHANNEL, chat_id: wanted });
    items.push(...found.items);
  }
  items.forEach(keep);
  const there = items.map(asContact);
  const madeUp = contacts.peek().filter((it) => it.conversation === null && !there.some(({ chat }) => chat === it.chat));
  // An address may name somebody who has not written yet.
  if (wanted && ![...madeUp, ...there].some(({ chat }) => chat === wanted)) {
    madeUp.push({ chat: wanted, name: nameOf(wanted), conversation: null });
  }
  contacts.value = [...madeUp, ...there];
  isListed.value = true;
}

/** Begins to follow; returns what ends it. */
export function follow() {
  const ends = [
    keepLoaded(() => void loadContacts()),
    hear((event) => {
      if (event.channel === CHANNEL && event.conversation) learn(event.conversation);
    }),
  ];
  return () => ends.forEach((end) => end());
}
