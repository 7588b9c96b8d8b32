// Sign in: by the link that somebody was given, or by e-mail and password. Where the server cannot be asked who sits here, it
// is asked again.

import { html, useEffect, useSignal } from "../vendor/preact.js";
import { preferences } from "../state/preferences.js";
import { go, route } from "../state/route.js";
import { hasEnded, look, me, signIn, unreached } from "../state/session.js";
import { Problem, get } from "../wire/api.js";
import { serverNow } from "../wire/server_time.js";
import { span, t } from "../words/index.js";
import { Field, Form, Send } from "../parts/form.js";
import { now } from "../parts/now.js";
import { problemText } from "../parts/toast.js";

/** @import * as Wire from "../../types/wire.js" */

/** A server that is away is asked again this often. */
const AGAIN_MS = 5_000;
/** The wait after too many tries, where the server does not say it. */
const WAIT_S = 60;

export function SignIn() {
  const link = useSignal(/** @type {"none" | "used" | Problem} */ ("none"));
  const isByLink = useSignal(false);
  /** The secret of a link that was opened by somebody who is signed in: they may not know whose it is. */
  const offered = useSignal("");
  /** Until when tries are refused. */
  const until = useSignal(0);

  useEffect(() => eachLink((secret) => {
    if (secret && me.peek()) offered.value = secret;
    else if (secret) void byLink(secret);
    // Whoever is signed in has no business here, unless they bring a link.
    else if (me.peek()) go("/", { replace: true });
  }), []);

  /** @param {string} secret */
  async function byLink(secret) {
    isByLink.value = true;
    offered.value = "";
    try {
      await signIn({ link: secret });
      go(await landing(), { replace: true });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      link.value = error.status === 401 ? "used" : error;
      isByLink.value = false;
    }
  }
  /** @param {FormData} given */
  async function byPassword(given) {
    try {
      await signIn({ email: String(given.get("email")), password: String(given.get("password")) });
    } catch (error) {
      if (error instanceof Problem && error.status === 429) until.value = serverNow() + (error.retryAfter ?? WAIT_S) * 1_000;
      throw error;
    }
    go(route.peek().page === "sign-in" ? "/" : location.pathname + location.search, { replace: true });
  }
  return html`<main class="door">
    <div class="door-card">
      <p class="brand"><img src=${new URL("../icon.svg", import.meta.url).pathname} alt="" width="40" height="40" /> Baton</p>
      ${isByLink.value ? html`<p role="status">${t("sign_in.by_link")}</p>`
      : offered.value && me.value ? html`
        <h1>${t("sign_in.as_another")}</h1>
        <p class="urged" role="alert">${t("sign_in.as_another_text", { name: me.value.name })} <a href="/" data-within>${t("sign_in.still")}</a></p>
        <button class="is-primary" onClick=${() => void byLink(offered.value)}>${t("sign_in.by_this_link")}</button>`
      : unreached.value ? html`<${Unreached} problem=${unreached.value} />`
      : html`
        <h1>${t("sign_in")}</h1>
        ${link.value !== "none" ? html`<p class="urged is-warn" role="alert">${link.value === "used" ? t("sign_in.link_void") : wordsFor(link.value)}
          ${me.value && html` <a href="/" data-within>${t("sign_in.still")}</a>`}</p>`
        : hasEnded.value && html`<p class="urged" role="status">${t("sign_in.ended")}</p>`}
        <${Form} onSend=${byPassword} words=${wordsFor}>
          <${Field} name="email" type="email" label=${t("sign_in.email")} autocomplete="username" required autofocus maxlength="254" />
          <${Field} name="password" type="password" label=${t("sign_in.password")} autocomplete="current-password" required maxlength="200" />
          <${Go} until=${until.value} />
        </${Form}>
        <p class="hint">${t("sign_in.no_password")}</p>`}
    </div>
  </main>`;
}

/**
 * Follows the link by which the page was opened, and each that is put into the address of the open page: of that only the end
 * changes, and the browser loads nothing.
 * @param {(secret: string) => void} follow "" where there is none
 */
export function eachLink(follow) {
  function look() {
    if (route.peek().page !== "sign-in") return;
    const secret = location.hash.slice(1);
    // A link is good once: it stays neither in the address nor in the history.
    if (secret) history.replaceState(null, "", "/sign-in");
    follow(secret);
  }
  look();
  addEventListener("hashchange", look);
  return () => removeEventListener("hashchange", look);
}

/** The button, which counts down while tries are refused. @param {{until: number}} props */
function Go({ until }) {
  const left = until && Math.ceil((until - now.value) / 1_000) * 1_000;
  return html`<${Send} disabled=${left > 0}>${left > 0 ? t("sign_in.go_in", { time: span(left) }) : t("sign_in.go")}</${Send}>`;
}

/** The server does not say who sits here. @param {{problem: Problem}} props */
function Unreached({ problem }) {
  const isAsking = useSignal(false);
  async function again() {
    if (isAsking.peek()) return;
    isAsking.value = true;
    await look().catch((error) => {
      if (!(error instanceof Problem)) throw error;
    });
    isAsking.value = false;
  }
  useEffect(() => {
    const timer = setInterval(() => void again(), AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  return html`
    <h1>${t("sign_in.unreached")}</h1>
    <p role="alert">${problem.code === "unreachable" || problem.code === "unavailable" ? t("sign_in.unreached_text") : problemText(problem)}</p>
    <p class="hint">${t("sign_in.unreached_again", { time: span(AGAIN_MS) })}</p>
    <button class="is-primary" aria-disabled=${isAsking.value ? "true" : undefined} onClick=${() => void again()}>${t("retry")}</button>`;
}

/** @param {Problem} problem */
function wordsFor(problem) {
  if (problem.status === 429) return t("sign_in.too_many", { time: span((problem.retryAfter ?? WAIT_S) * 1_000) });
  if (problem.status === 401) return t("sign_in.wrong");
  if (problem.code === "unreachable") return t("sign_in.unreached_text");
  return problemText(problem);
}

/** Where a link leads: to a password; in the demo, whose people are gone with it, to the playground and its tour. */
async function landing() {
  try {
    /** @type {Wire.Page<Wire.Setting>} */
    const { items } = await get("/settings");
    const sandbox = items.find(({ name }) => name === "BATON_SANDBOX");
    // Only the demo has a sandbox that nobody has asked for.
    if (sandbox?.value === "on" && sandbox.source === "default" && !preferences.peek().toured) return "/playground";
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
  return "/settings/you?first";
}
