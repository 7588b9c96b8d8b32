// The thread: everything that was written, in order, with what happened between; and what is being written now.

import { html, useEffect, useMemo, useRef, useSignal } from "../vendor/preact.js";
import { route } from "../state/route.js";
import { Icon } from "../parts/icon.js";
import { useKeptFocus } from "../parts/kept_focus.js";
import { isLookedAt } from "../parts/looked.js";
import { problemText, sayProblem } from "../parts/toast.js";
import { clock, day, moment, t } from "../words/index.js";
import { markRead } from "./acts.js";
import { Aside, Bubble } from "./bubble.js";
import { told } from "./decisions.js";
import { entries, firstUnread } from "./entries.js";
import { stillOwed } from "./fates.js";
import { seeThrough } from "./saying.js";
import { toMessage } from "./scroll.js";
import { useScroller } from "./scroller.js";
import { codeOf, tell } from "./telling.js";
import { Unsent } from "./unsent.js";
import { Verdict } from "./verdict.js";
import { sealOf, spoke, verdict } from "./verdicts.js";
import { Writing } from "./writing.js";

/** @import * as Wire from "../../types/wire.js" */
/** @import { Entry } from "./entries.js" */
/** @import { Opened } from "./opened.js" */
/** @import { Owed } from "../state/owed.js" */

/** After it has been in view for so long it has been read. */
const READ_MS = 400;
/** Shown above the line over what is new, so that one sees what it follows. */
const NEW_PX = 80;

/**
 * @param {{
 *   open: Opened, it: Wire.Conversation, events: Wire.Event[], acts: import("./bubble.js").Acts,
 *   onReply: () => void, onEdit: (it: Owed) => void,
 * }} props
 */
export function Thread({ open, it, events, acts, onReply, onEdit }) {
  const { thread } = open;
  const isKeptUnread = open.isKeptUnread.value;
  const messages = thread.ordered.value;
  const newFrom = useNewFrom(open, it);
  const isEnd = !thread.hasNewer.value;
  const all = useMemo(() => {
    const spoken = spoke(messages, isEnd);
    const verdictOf = (/** @type {Wire.Message} */ one) => verdict(one, it, spoken);
    const newCount = newFrom === null ? 0 : messages.filter((one) => one.seq >= newFrom && one.author === "contact").length;
    return entries(messages, { newFrom, newCount, events, verdictOf, isEnd });
  }, [messages, it.mode, it.activity, it.status, newFrom, events, isEnd]);
  const owed = stillOwed(thread.owed.value, messages);
  const written = open.live.generation.value?.text;

  const { box, isAtEnd, look, toEnd, letGo } = useScroller([all, owed, written, it.activity], {
    onTop: () => thread.hasOlder.peek() && !thread.problem.peek() && void thread.older(),
    isEnd,
    onEnd: () => thread.hasNewer.peek() && !thread.problem.peek() && void thread.newer(),
  });
  // What was tried again or discarded, and the button that did so, go; the messages stay.
  useKeptFocus(box, () => box.current);
  const newest = messages.at(-1)?.seq ?? 0;
  const seen = useRef(0);
  // What was loaded to begin with is not new to whoever stands further back, nor is what lies between there and the end.
  if (isAtEnd.value || thread.hasNewer.value || seen.current === 0) seen.current = Math.max(seen.current, newest);
  const below = messages.filter((one) => one.seq > seen.current && one.kind !== "note").length;

  // The address may name a message: what a search found, or what another page points to.
  const wanted = Number(route.value.id === it.id && route.value.query.get("seq")) || null;
  useEffect(() => {
    if (wanted === null) return;
    letGo();
    void toMessage(thread, wanted);
  }, [wanted]);
  useEffect(() => {
    if (it.unread === 0 || !isLookedAt.value || !isAtEnd.value || !thread.isLoaded.value || thread.hasNewer.value || isKeptUnread) return;
    const timer = setTimeout(() => void markRead(it.id, newest || undefined), READ_MS);
    return () => clearTimeout(timer);
  }, [it.id, it.unread, newest, isLookedAt.value, isAtEnd.value, thread.isLoaded.value, thread.hasNewer.value, isKeptUnread]);
  // What is new is read from its beginning, if it is more than fits.
  useEffect(() => {
    const line = newFrom !== null && box.current?.querySelector(".new-line");
    if (!(line instanceof HTMLElement) || !box.current || line.offsetTop >= box.current.scrollTop) return;
    letGo(line.offsetTop - NEW_PX);
  }, [newFrom]);
  // What one writes oneself is always seen, also by who stood further back. What was owed before is no reason to go there.
  const owedBefore = useRef(owed.length);
  useEffect(() => {
    if (owed.length > owedBefore.current) void end();
    owedBefore.current = owed.length;
  }, [owed.length]);

  /** @param {Owed} one @param {boolean} [force] */
  async function again(one, force) {
    const why = await seeThrough(it.id, thread.bring(one, { force }));
    // It was shown as not confirmed before: that it still is, somebody who has pressed a button should hear.
    if (why) sayProblem(why);
  }
  async function end() {
    await thread.toNewest();
    toEnd();
  }

  return html`<div class="thread-body">
    <div class="thread-scroll" ref=${box} onScroll=${look} tabindex="0" role="region" aria-label=${t("thread.messages")}>
      <ol role="list" class="lines">
        <li class="edge" key="edge">${thread.problem.value ? html`<span class="problem">${problemText(thread.problem.value)}</span> <button type="button" onClick=${() => void thread.again()}>${t("retry")}</button>`
          : thread.hasOlder.value || !thread.isLoaded.value ? html`<span class="soft">${t("loading")}</span>` : html`<span class="soft">${t("thread.begins")}</span>`}</li>
        ${all.map((one) => html`<${Line} key=${one.key} entry=${one} open=${open} conversation=${it} acts=${acts} onReply=${onReply} />`)}
        ${owed.map((one) => html`<li key=${one.key}><${Unsent} it=${one} onAgain=${again} onEdit=${onEdit} onDiscard=${thread.forget} /></li>`)}
        ${!thread.hasNewer.value && html`<li key="writing"><${Writing} it=${it} live=${open.live} /></li>`}
      </ol>
    </div>
    ${(thread.hasNewer.value || (!isAtEnd.value && thread.isLoaded.value)) && html`<button type="button" class="to-end ${below > 0 ? "is-new" : ""}" onClick=${() => void end()}>
      <${Icon} name="down" />${below > 0 ? t("thread.new_below", { count: below }) : t("thread.to_end")}</button>`}
  </div>`;
}

/** @param {{entry: Entry, open: Opened, conversation: Wire.Conversation, acts: import("./bubble.js").Acts, onReply: () => void}} props */
function Line({ entry, open, conversation, acts, onReply }) {
  if (entry.type === "day") return html`<li class="day"><time datetime=${entry.at}>${day(entry.at)}</time></li>`;
  if (entry.type === "new") return html`<li class="new-line"><span>${t("thread.new_from", { count: entry.count })}</span></li>`;
  if (entry.type === "event") return html`<${Happened} it=${entry.event} />`;
  const last = /** @type {Wire.Message} */ (entry.messages.at(-1));
  const below = entry.verdict && html`<${Verdict} it=${last} found=${entry.verdict} count=${entry.verdictCount} conversation=${conversation} onReply=${onReply} />`;
  if (entry.type === "aside") return html`<li class="line"><${Aside} it=${last} />${below}</li>`;
  const seal = entry.verdict ? sealOf(entry.verdict, entry.verdictCount, conversation) : "";
  return html`<li class="line"><${Bubble} parts=${entry.messages} isFirst=${entry.isFirst} thread=${open.thread} acts=${acts} below=${below} seal=${seal} /></li>`;
}

/** @type {Record<string, import("../parts/icon.js").IconName>} */
const SIGNS = { ai: "spark", human: "hand", bad: "alert" };

/** What happened between the messages. @param {{it: Wire.Event}} props */
function Happened({ it }) {
  const { tone } = told(it);
  return html`<li class="happened is-${tone}" title=${`${moment(it.at)} · ${codeOf(it)}`}><span><${Icon} name=${SIGNS[tone] ?? "clock"} />${tell(it)} <time datetime=${it.at}>${clock(it.at)}</time></span></li>`;
}

/**
 * Where the line above what is new stands: set when the thread is opened, and again when something arrives while nobody looks.
 * @param {Opened} open @param {Wire.Conversation} it
 */
function useNewFrom(open, it) {
  const from = useSignal(/** @type {number | null} */ (null));
  const isDue = useRef(true);
  /** How many were new, and what was the newest then. */
  const counted = useRef({ unread: 0, upTo: 0 });
  const messages = open.thread.ordered.value;
  useEffect(() => {
    if (messages.length === 0 || open.thread.hasNewer.peek()) return;
    if (isDue.current) counted.current = { unread: it.unread, upTo: messages[messages.length - 1].seq };
    // What comes while one looks on is not new, but simply next.
    isDue.current = false;
    const { unread, upTo } = counted.current;
    if (unread > 0) from.value = firstUnread(messages.filter((one) => one.seq <= upTo), unread);
  }, [it.unread > 0, messages]);
  useEffect(() => {
    // Whoever leaves has seen what is here: what comes while they are away is new.
    if (!isLookedAt.value && it.unread === 0) isDue.current = true;
  }, [isLookedAt.value, it.unread]);
  return from.value;
}
