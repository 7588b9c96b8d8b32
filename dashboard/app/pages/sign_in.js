// Sign in: by the link that somebody was given, or by e-mail and password.

import { html, useEffect, useSignal } from "../vendor/preact.js";
import { go, route } from "../state/route.js";
import { signIn } from "../state/session.js";
import { Problem } from "../wire/api.js";
import { problemText } from "../parts/toast.js";
import { span, t } from "../words/index.js";

export function SignIn() {
  const problem = useSignal("");
  const isBusy = useSignal(false);

  /** @param {Parameters<typeof signIn>[0]} proof */
  async function enter(proof) {
    isBusy.value = true;
    problem.value = "";
    try {
      await signIn(proof);
      go(route.peek().page === "sign-in" ? "/" : route.peek().path, { replace: true });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problem.value = wordsFor(error, "link" in proof);
    } finally {
      isBusy.value = false;
    }
  }

  useEffect(() => {
    const link = location.hash.slice(1);
    if (route.peek().page !== "sign-in" || !link) return;
    // A link is good once: it stays neither in the address nor in the history.
    history.replaceState(null, "", "/sign-in");
    void enter({ link });
  }, []);

  /** @param {SubmitEvent} event */
  function submit(event) {
    event.preventDefault();
    const given = new FormData(/** @type {HTMLFormElement} */ (event.target));
    void enter({ email: String(given.get("email")), password: String(given.get("password")) });
  }

  return html`<main class="sign-in">
    <form onSubmit=${submit}>
      <img src=${new URL("../icon.svg", import.meta.url).pathname} alt="" width="48" height="48" />
      <h1>Baton</h1>
      <label>${t("sign_in.email")}<input name="email" type="email" autocomplete="username" required autofocus /></label>
      <label>${t("sign_in.password")}<input name="password" type="password" autocomplete="current-password" required /></label>
      <p class="problem" role="alert">${problem.value}</p>
      <button class="is-primary" disabled=${isBusy.value}>${t("sign_in.go")}</button>
      <p class="hint">${t("sign_in.no_password")}</p>
    </form>
  </main>`;
}

/** @param {Problem} problem @param {boolean} byLink */
function wordsFor(problem, byLink) {
  if (problem.status === 429) return t("sign_in.too_many", { time: span((problem.retryAfter ?? 60) * 1000) });
  if (problem.status === 401) return byLink ? t("sign_in.link_void") : t("sign_in.wrong");
  return problemText(problem);
}
