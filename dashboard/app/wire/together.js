// One stream for all tabs of a browser: it gives the pages of a site few lines together, and those that wait for news would
// leave none to ask or say anything by. One tab follows it and tells the others; when it is gone, another goes on from there.

import { follow, wake } from "./stream.js";

/** @import { Frame, Listener } from "./stream.js" */

/** Whoever looks at a tab that nobody tells how things stand waits no longer than that: then a line of its own is better than none. */
const TOLD_MS = 5_000;
/** A tab that is looked at asks this often again: the browser may put the one that tells to sleep at any moment, and tells nobody. */
const BEAT_MS = 15_000;
/** One that tells and has itself heard nothing for so long is deaf: the server says something every 15 s. */
const DEAF_MS = 20_000;

/**
 * @typedef {{kind: "ask", wakes: boolean} | {kind: "stands", hello: Frame | null, isMute: boolean, heardAt: number} | {kind: "frame", frame: Frame} | {kind: "lost"}} Word
 *   what tabs tell each other; `hello` is null while there is no line, and nothing comes through one that `isMute`; `heardAt` is
 *   by the clock of this computer, which all tabs share; it `wakes` when somebody has just come to look
 */

/**
 * As `follow`, together with the other tabs that call it by the same name. Without TLS a browser lets no tab know of another:
 * then each follows for itself.
 * @param {string} name @param {string} url @param {Listener} listener
 * @returns {() => void} ends it for this tab
 */
export function followTogether(name, url, listener) {
  if (!navigator.locks) return follow(url, listener);
  const closed = new AbortController();
  const others = new BroadcastChannel(name);
  /** One's own line. @type {(() => void) | null} */
  let hangUp = null;
  /** Whether it is we who tell the others. */
  let isTeller = false;
  /** What the line began with, for as long as it is there. @type {Frame | null} */
  let hello = null;
  /** Whether there is one, and nothing comes through it. */
  let isMute = false;
  /** When something came on one's own line. */
  let heardAt = 0;
  let lastId = "";
  let patience = 0;

  /** @param {Word} word */
  const tell = (word) => isTeller && others.postMessage(word);
  const stands = () => tell({ kind: "stands", hello: hello && { ...hello, id: lastId }, isMute, heardAt });
  /** @param {Frame} frame */
  function hear(frame) {
    if (frame.id) lastId = frame.id;
    if (frame.type === "hello") [hello, isMute] = [frame, false];
    listener.onFrame(frame);
    tell({ kind: "frame", frame });
  }
  function dial() {
    clearTimeout(patience);
    hangUp ??= follow(url, {
      ...listener,
      onFrame: hear,
      onHeard: () => (heardAt = Date.now()),
      onMute: () => {
        isMute = true;
        listener.onMute?.();
        stands();
      },
      onLost: (problem) => {
        [hello, isMute] = [null, false];
        listener.onLost?.(problem);
        tell({ kind: "lost" });
      },
    }, lastId);
  }
  /** Asks how things stand, where others are to tell. @param {boolean} wakes */
  function ask(wakes) {
    clearTimeout(patience);
    if (hangUp) return;
    others.postMessage(/** @type {Word} */ ({ kind: "ask", wakes }));
    if (!document.hidden) patience = window.setTimeout(dial, TOLD_MS);
  }

  others.onmessage = ({ data }) => {
    /** @type {Word} */
    const word = data;
    if (word.kind === "ask") {
      // It is asked where somebody looks; whoever tells them may be seen by nobody.
      if (word.wakes) wake();
      return stands();
    }
    // Who follows for themselves has heard it.
    if (hangUp) return;
    // Who asks waits on, and then follows for themselves: the browser may have put that one to sleep, with its line.
    if (word.kind === "stands" && word.hello && Date.now() - word.heardAt > DEAF_MS) return;
    clearTimeout(patience);
    if (word.kind === "lost") {
      [hello, isMute] = [null, false];
      listener.onLost?.(null);
    }
    if (word.kind === "stands" && word.isMute && !isMute) {
      isMute = true;
      listener.onMute?.();
    }
    const frame = word.kind === "frame" ? word.frame : word.kind === "stands" && !hello ? word.hello : null;
    // What comes before it is known how things stand is loaded then.
    if (!frame || (!hello && frame.type !== "hello")) return;
    if (frame.type === "hello") listener.onOpen?.();
    hear(frame);
  };
  const begin = () => {
    isTeller = true;
    // Who told the others until now did not tell us, and perhaps nobody: what they have missed they load.
    if (hangUp) {
      stands();
      tell({ kind: "frame", frame: { id: lastId, type: "resync", data: {} } });
    }
    dial();
    return new Promise((done) => closed.signal.addEventListener("abort", done));
  };
  navigator.locks.request(name, { signal: closed.signal }, begin).catch((error) => {
    if (!closed.signal.aborted) throw error;
  });
  const come = () => ask(true);
  come();
  document.addEventListener("visibilitychange", come);
  const beat = setInterval(() => document.hidden || ask(false), BEAT_MS);

  return () => {
    closed.abort();
    clearTimeout(patience);
    clearInterval(beat);
    document.removeEventListener("visibilitychange", come);
    others.close();
    hangUp?.();
  };
}
