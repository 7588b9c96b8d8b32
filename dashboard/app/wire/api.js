// The public API: a request goes out, an answer or a problem comes back. Nothing is asked of the server in another way.

import { learnTime } from "./server_time.js";

/** What the server refused, or why it was not reached. */
export class Problem extends Error {
  /** @param {{status: number, code: string, title?: string, detail?: string, errors?: {pointer: string, detail: string}[], current?: any, retryAfter?: number | null, mayBeDone?: boolean}} it */
  constructor(it) {
    super(it.detail || it.title || it.code);
    this.status = it.status;
    this.code = it.code;
    this.detail = it.detail ?? null;
    this.errors = it.errors ?? [];
    /** The thing as it is, where that is what the conflict is about. */
    this.current = it.current ?? null;
    /** Seconds. */
    this.retryAfter = it.retryAfter ?? null;
    /** What was asked for changes something, and no answer came: it may have been done all the same. */
    this.mayBeDone = it.mayBeDone ?? false;
  }

  /** The server itself says so. A proxy in front answers 404 too, while the server is being replaced, and has no code of ours. */
  get isNotThere() {
    return this.code === "not_found" || this.code === "erased";
  }
}

/** @type {Set<() => void>} */
const strangers = new Set();

/**
 * Called when the server no longer knows who we are.
 * @param {() => void} what
 */
export function whenUnauthorized(what) {
  strangers.add(what);
}

/** Who has not answered by then does not. */
const ANSWER_MS = 40_000;
/** With a file, which the server waits two minutes for. */
const FILE_MS = 150_000;

/** Below which all of the API lies, but for the doors of the webhooks. */
const BASE = "/api/v1";

/**
 * @param {string} path below `/api/v1`; or that of a webhook's door, `/webhooks/…`
 * @param {Record<string, any>} [query] null and undefined are left out
 */
export function address(path, query) {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const words = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `${path.startsWith("/webhooks/") ? "" : BASE}${path}${words && `?${words}`}`;
}

/**
 * @typedef {{query?: Record<string, any>, body?: any, key?: string, signal?: AbortSignal}} How
 *   `key` makes a repeat of the same request safe.
 */

/**
 * @param {string} method
 * @param {string} path as `address` takes it
 * @param {How} [how]
 * @returns {Promise<any>}
 */
export async function call(method, path, how = {}) {
  /** @type {Record<string, string>} */
  const headers = {};
  /** @type {BodyInit | undefined} */
  let body;
  if (how.body instanceof FormData) {
    body = how.body;
  } else if (how.body !== undefined) {
    headers["content-type"] = "application/json";
    body = JSON.stringify(how.body);
  }
  if (how.key) headers["idempotency-key"] = how.key;
  const line = new AbortController();
  const hangUp = () => line.abort();
  if (how.signal?.aborted) hangUp();
  how.signal?.addEventListener("abort", hangUp);
  const patience = setTimeout(hangUp, how.body instanceof FormData ? FILE_MS : ANSWER_MS);
  try {
    const askedAt = Date.now();
    const answer = await fetch(address(path, how.query), { method, headers, body, signal: line.signal });
    learnTime(answer, askedAt);
    // A proof of who somebody is that fails says nothing of a session that they may have.
    if (!answer.ok) throw await (method === "POST" && path === "/session" ? problemOf(answer) : refused(answer));
    return answer.status === 204 ? null : await answer.json();
  } catch (error) {
    if (error instanceof Problem || how.signal?.aborted) throw error;
    throw new Problem({ status: 0, code: "unreachable", mayBeDone: method !== "GET" });
  } finally {
    clearTimeout(patience);
    how.signal?.removeEventListener("abort", hangUp);
  }
}

/**
 * Why a file cannot be had: an element that shows one does not say. Null: it can.
 * @param {string} url
 * @returns {Promise<Problem | null>}
 */
export async function obstacle(url) {
  try {
    const answer = await fetch(url, { headers: { range: "bytes=0-0" }, signal: AbortSignal.timeout(ANSWER_MS), cache: "no-store" });
    if (!answer.ok) return await refused(answer);
    void answer.body?.cancel();
    return null;
  } catch {
    return new Problem({ status: 0, code: "unreachable" });
  }
}

/** Why it was refused; whoever must know that we are strangers is told. @param {Response} answer */
export async function refused(answer) {
  const problem = await problemOf(answer);
  if (problem.status === 401) strangers.forEach((what) => what());
  return problem;
}

/** @param {Response} answer */
async function problemOf(answer) {
  const retryAfter = Number(answer.headers.get("retry-after")) || null;
  try {
    return new Problem({ retryAfter, code: "unavailable", ...(await answer.json()), status: answer.status });
  } catch {
    // A proxy in front answers in words of its own.
    return new Problem({ status: answer.status, code: answer.status === 413 ? "too_large" : "unavailable", retryAfter });
  }
}

/** @param {string} path @param {Record<string, any>} [query] @param {AbortSignal} [signal] */
export const get = (path, query, signal) => call("GET", path, { query, signal });
/** @param {string} path @param {any} [body] @param {How} [how] */
export const post = (path, body, how) => call("POST", path, { ...how, body });
/** @param {string} path @param {any} body @param {How} [how] */
export const put = (path, body, how) => call("PUT", path, { ...how, body });
/** @param {string} path @param {any} body @param {How} [how] */
export const patch = (path, body, how) => call("PATCH", path, { ...how, body });
/** @param {string} path @param {How} [how] */
export const remove = (path, how) => call("DELETE", path, how);
