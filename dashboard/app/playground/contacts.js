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
/** Where it is kept who was played last: of somebody made up who has not written, nobody else knows the name. */
const KEY = "baton.played";
/** @returns {{chat: string, name: string}} */
function kept() {
  try {
    return { chat: "", name: "", ...JSON.parse(sessionStorage.getItem(KEY) ?? "{}") };
  } catch {
    return { chat: "", name: "" };
  }
}
/** Who was played last, for when the address names nobody. */
const last = signal(kept().chat);

/** Who is being played. */
export const chosen = computed(() => {
  const wanted = route.value.page === "playground" && route.value.id ? route.value.id : last.value;
  return contacts.value.find(({ chat }) => chat === wanted) ?? contacts.value[0] ?? null;
});

/** @param {string} chat @param {string} [name] */
function store(chat, name) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ chat, name }));
  } catch {
    // A browser that keeps nothing calls them by their number after a reload.
  }
}

/** @param {string} chat @param {{replace?: boolean}} [how] */
export function choose(chat, how) {
  last.value = chat;
  store(chat, contacts.peek().find((it) => it.chat === chat)?.name);
  go(`/playground/${encodeURIComponent(chat)}`, how);
}

/** Somebody new, with a number that nobody here has. @param {string} name @param {{replace?: boolean}} [how] */
export function makeUp(name, how) {
  let chat = "";
  do {
    chat = `658${String(Math.floor(Math.random() * 1e7)).padStart(7, "0")}@c.us`;
  } while (contacts.peek().some((it) => it.chat === chat));
  contacts.value = [{ chat, name, conversation: null }, ...contacts.peek()];
  choose(chat, how);
  return chat;
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

/** One that was erased: whose phone is being played is a number that has not written. @param {string | null} id */
function forget(id) {
  const erased = contacts.peek().find(({ conversation }) => conversation === id);
  if (!erased) return;
  const { chat } = erased;
  const isPlayed = chosen.peek()?.chat === chat;
  if (kept().chat === chat) store(chat);
  contacts.value = contacts.peek().flatMap((it) => (it !== erased ? [it] : isPlayed ? [{ chat, name: phoneOf(chat), conversation: null }] : []));
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
  const wanted = (route.peek().page === "playground" && route.peek().id) || last.peek();
  if (wanted && !items.some((it) => it.chat_id === wanted)) {
    const found = await get("/conversations", { channel: CHANNEL, chat_id: wanted });
    items.push(...found.items);
  }
  items.forEach(keep);
  const there = items.map(asContact);
  const madeUp = contacts.peek().filter((it) => it.conversation === null && !there.some(({ chat }) => chat === it.chat));
  // Somebody may be played who has not written yet.
  if (wanted && ![...madeUp, ...there].some(({ chat }) => chat === wanted)) {
    madeUp.push({ chat: wanted, name: (kept().chat === wanted && kept().name) || phoneOf(wanted), conversation: null });
  }
  contacts.value = [...madeUp, ...there];
  isListed.value = true;
}

/** Begins to follow; returns what ends it. */
export function follow() {
  const ends = [
    keepLoaded(() => void loadContacts()),
    hear((event) => {
      if (event.type === "conversation_erased") forget(event.conversation_id);
      else if (event.channel === CHANNEL && event.conversation) learn(event.conversation);
    }),
  ];
  return () => ends.forEach((end) => end());
}
