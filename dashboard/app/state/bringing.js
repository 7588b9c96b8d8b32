// How what is owed comes to the server: each once, in the order that it was written in, whatever is open meanwhile.

import { batch } from "../vendor/preact.js";
import { Problem, post } from "../wire/api.js";
import { owedOf, setOwed } from "./owed.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Owed } from "./owed.js" */

/**
 * What is on its way in each conversation, the last of it. The contact must read in the order that was written in: a text
 * would overtake the file before it. It outlives the thread that is open, as what is owed does.
 * @type {Map<string, Promise<any>>}
 */
const underWay = new Map();

/** @template T @param {string} id @param {() => Promise<T>} send @returns {Promise<T>} */
function inTurn(id, send) {
  const sent = (underWay.get(id) ?? Promise.resolve()).then(send);
  const over = sent.catch(() => {}).then(() => {
    if (underWay.get(id) === over) underWay.delete(id);
  });
  underWay.set(id, over);
  return sent;
}

/**
 * Brings what is owed to the server, again if need be, once what was written before has been answered or has failed.
 * @param {string} id of the conversation @param {Owed} it
 * @param {{force?: boolean, onTaken?: (message: Wire.Message | undefined) => void}} [how] `force`: although the suggestion is no
 *   longer fresh; `onTaken` is given what the server has made of it
 * @returns {Promise<Wire.Receipt | null>} what the takeover stopped
 */
export function bring(id, it, { force = it.force, onTaken = () => {} } = {}) {
  const going = { ...it, force };
  mark(id, going, null);
  return inTurn(id, () => send(id, going, onTaken));
}

/** @param {string} id @param {Owed} it @param {(message: Wire.Message | undefined) => void} onTaken */
async function send(id, it, onTaken) {
  // Erased while it waited; or brought by then.
  if (!owedOf(id).peek().some((other) => other.key === it.key)) return null;
  try {
    if (it.file?.blob && !(await isReadable(it.file.blob))) throw unreadable(it);
    const [path, body] = routeOf(it);
    const answer = await post(`/conversations/${id}${path}`, body, { key: it.key });
    batch(() => {
      // Suggestions may answer with the message inside; whichever it is, it has its place in the sequence.
      onTaken(answer?.message ?? answer);
      forget(id, it);
    });
    return answer?.takeover ?? null;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    mark(id, it, error);
    throw error;
  }
}

/**
 * A folder cannot be read, nor a file that has changed on the disk since it was chosen. A request with it breaks off like one
 * that a bad line has cut: it is looked at before.
 * @param {File} file
 */
export const isReadable = (file) => file.slice(0, 1).arrayBuffer().then(() => true, () => false);

/** Of these it is certain that nothing was taken. */
const UNTAKEN = [401, 429];

/**
 * At the first try it certainly did not arrive; after others it may have, and the file is as good as lost.
 * @param {Owed} it
 */
function unreadable(it) {
  if (it.problem === null || UNTAKEN.includes(it.problem.status)) return new Problem({ status: 422, code: "file_unreadable" });
  it.file = it.file && { ...it.file, blob: null };
  return it.problem;
}

/** @param {string} id @param {Owed} it @param {Problem | null} why */
function mark(id, it, why) {
  setOwed(id, owedOf(id).peek().map((other) => (other.key === it.key ? { ...it, problem: why } : other)));
}

/** @param {string} id @param {Owed} it */
export function forget(id, it) {
  setOwed(id, owedOf(id).peek().filter((other) => other.key !== it.key));
}

/** @param {Owed} it @returns {[string, any]} */
function routeOf(it) {
  if (it.kind === "note") return ["/notes", { text: it.text }];
  // Without a text it goes as it was suggested, and counts as that.
  if (it.draft) return [`/drafts/${it.draft.id}/send`, { ...(it.text !== it.draft.text && { text: it.text }), ...(it.force && { force: true }) }];
  if (it.file?.blob) {
    const form = new FormData();
    form.append("file", it.file.blob, it.file.name);
    if (it.text) form.append("caption", it.text);
    if (it.quoted) form.append("quoted_message_id", it.quoted.id);
    return ["/messages", form];
  }
  return ["/messages", { text: it.text, ...(it.quoted && { quoted_message_id: it.quoted.id }) }];
}
