// Which conversations are looked at, as the address says it. What is as usual is left out of the address. Pure.

/** @import * as Wire from "../../types/wire.js" */

/**
 * @typedef {"needs_you" | "mine" | "ai" | "all"} Group
 * @typedef {{group: Group, status: Wire.Status | null, channel: string | null, label: string | null, assignee: string | null, unread: boolean, q: string}} Filter
 */

/** @type {Group[]} */
export const GROUPS = ["needs_you", "mine", "ai", "all"];
/** @type {Wire.Status[]} */
const STATUSES = ["open", "snoozed", "closed"];
/** Whatever its status. */
const ANY = "any";

/** What is looked at where nobody has said anything. @type {Filter} */
export const FIRST = { group: "all", status: "open", channel: null, label: null, assignee: null, unread: false, q: "" };

/** What cannot be understood is as usual: an address may be of another version, or typed by hand. @param {URLSearchParams} query @returns {Filter} */
export function filterOf(query) {
  const status = query.get("status");
  return {
    group: GROUPS.find((it) => it === query.get("group")) ?? FIRST.group,
    status: status === ANY ? null : STATUSES.find((it) => it === status) ?? FIRST.status,
    channel: query.get("channel") || null,
    label: query.get("label") || null,
    assignee: query.get("assignee") || null,
    unread: query.get("unread") === "true",
    q: query.get("q") ?? "",
  };
}

/**
 * Where the inbox shows these, with that conversation open.
 * @param {Partial<Filter>} filter what is left out is as usual @param {string | null} [id] @param {number | string | null} [seq] a message of it
 */
export function inboxAt(filter, id = null, seq = null) {
  const wanted = { ...FIRST, ...filter };
  const query = new URLSearchParams();
  if (wanted.group !== FIRST.group) query.set("group", wanted.group);
  if (wanted.status !== FIRST.status) query.set("status", wanted.status ?? ANY);
  for (const name of /** @type {const} */ (["channel", "label", "assignee"])) if (wanted[name]) query.set(name, /** @type {string} */ (wanted[name]));
  if (wanted.unread) query.set("unread", "true");
  if (wanted.q) query.set("q", wanted.q);
  if (id && seq) query.set("seq", String(seq));
  const words = query.toString();
  return `/inbox${id ? `/${encodeURIComponent(id)}` : ""}${words && `?${words}`}`;
}

/** @param {Filter} one @param {Filter} other */
export const isSameFilter = (one, other) => inboxAt(one) === inboxAt(other);
