// The rules of a channel: empty is as everywhere, and what that is stands beside it. What is written here acts on the next message.

import { html } from "../../vendor/preact.js";
import { patch } from "../../wire/api.js";
import { number, t, word } from "../../words/index.js";
import { useAsked } from "../../parts/asked.js";
import { Field, Form, Send } from "../../parts/form.js";
import { Failed } from "../listing.js";
import { say } from "../../parts/toast.js";
import { ALWAYS, FACTORS, GROUPS, OWN } from "./rule_list.js";

/** @import * as Wire from "../../../types/wire.js" */
/** @import { NumberRule, Rule } from "./rule_list.js" */

/** @param {{channel: Wire.Channel, again: () => Promise<void>}} props */
export function Rules({ channel, again }) {
  const asked = useAsked("/settings");
  if (!asked.answer) return asked.problem && html`<${Failed} problem=${asked.problem} again=${asked.again} />`;
  /** What holds everywhere, by key. */
  const everywhere = new Map(/** @type {Wire.Setting[]} */ (asked.answer.items).filter((it) => it.channel_key).map((it) => [it.channel_key, it.value]));
  const named = GROUPS.flatMap(({ rules }) => rules.map(({ key }) => key));
  // A server that is newer than this page has rules that it has no words for: they can be written as they are.
  const others = [...everywhere.keys(), ...Object.keys(channel.settings ?? {})].filter((key) => key && !named.includes(key));
  /** @type {{group: string, rules: Rule[]}[]} */
  const groups = [...GROUPS, { group: "others", rules: [...new Set(others)].map((key) => ({ key: String(key), kind: "text" })) }];
  return html`<h2 class="rules-title">${t("rules.title")}</h2>
    <p class="lead">${t("rules.lead")}</p>
    ${groups.map(({ group, rules }) => {
      const known = rules.filter(({ key }) => OWN.includes(key) || everywhere.has(key) || key in (channel.settings ?? {}));
      return known.length > 0 && html`<${Group} key=${group} group=${group} rules=${known} channel=${channel} everywhere=${everywhere} again=${again} />`;
    })}`;
}

/** @param {{group: string, rules: Rule[], channel: Wire.Channel, everywhere: Map<string | null, string | null>, again: () => Promise<void>}} props */
function Group({ group, rules, channel, everywhere, again }) {
  const own = channel.settings ?? {};
  /** @param {FormData} given */
  async function send(given) {
    /** @type {Record<string, any>} */
    const settings = {};
    for (const rule of rules) {
      const wanted = valueOf(rule, String(given.get(`settings/${rule.key}`) ?? ""));
      if (written(rule, wanted) !== written(rule, own[rule.key])) settings[rule.key] = wanted;
    }
    if (Object.keys(settings).length === 0) return say(t("rules.unchanged"));
    await patch(`/channels/${channel.name}`, { settings });
    say(t("rules.saved"));
    void again();
  }
  const count = rules.filter(({ key }) => key in own).length;
  return html`<section class="card is-split rules" aria-labelledby="rules-${group}">
    <div class="split-head"><h2 id="rules-${group}">${word("rules_group", group)}</h2>${count > 0 && html`<p class="hint">${t("rules.own", { count })}</p>`}</div>
    <${Form} onSend=${send} class="form is-rules">
      ${rules.map((rule) => html`<${RuleField} key=${rule.key} rule=${rule} own=${own[rule.key]} everywhere=${everywhere.get(rule.key) ?? null} />`)}
      <footer><${Send}>${t("save")}</${Send}></footer>
    </${Form}>
  </section>`;
}

/** @param {{rule: Rule, own: any, everywhere: string | null}} props */
function RuleField({ rule, own, everywhere }) {
  const { key } = rule;
  const otherwise = toldOf(rule, everywhere);
  const about = word("rule_hint", key);
  const given = {
    name: `settings/${key}`,
    label: word("rule", key),
    // A word that is missing comes back as the key: then there is nothing to say about it.
    hint: html`${about !== key.replaceAll("_", " ") && about}<span class="unseen"> ${t("rules.otherwise", { value: otherwise })}</span>`,
    initial: written(rule, own),
    class: own === undefined ? "" : "is-own",
  };
  if (rule.kind === "choice") {
    const options = rule.values.map((value) => ({ value, words: word(`rule_value.${key}`, value) }));
    return html`<${Field} ...${given} options=${[{ value: "", words: t("rules.as_everywhere", { value: otherwise }) }, ...options]} />`;
  }
  if (rule.kind === "number") {
    const factor = FACTORS[rule.unit] ?? 1;
    return html`<${Field} ...${given} type="number" inputmode="decimal" step="any" min=${(rule.min ?? 0) / factor} max=${rule.max / factor} unit=${word("unit", rule.unit)}
      placeholder=${everywhere === null ? undefined : written(rule, everywhere)} autocomplete="off" />`;
  }
  const unit = rule.kind === "numbers" ? word("unit", rule.unit) : undefined;
  return html`<${Field} ...${given} unit=${unit} lines=${rule.kind === "long" ? (key === "prompt" ? 6 : 2) : undefined} placeholder=${otherwise} autocomplete="off" />`;
}

/** What stands in the field, as the API takes it; null takes the rule away. @param {Rule} rule @param {string} text */
export function valueOf(rule, text) {
  if (text.trim() === "") return null;
  if (rule.kind === "number" && rule.isWhole === false) return Number(text);
  if (rule.kind === "number") return Math.round(Number(text) * (FACTORS[rule.unit] ?? 1));
  // What is no number is sent as it stands: the server says what is wrong with it.
  if (rule.kind === "numbers") return parts(text).map((part) => Math.round(Number(part.replace(",", ".")) * (FACTORS[rule.unit] ?? 1)) || part);
  if (rule.key === "drafting") return text === "true";
  return text;
}

/** Several numbers that stand in one field. A comma with nothing behind it parts them only where no number has one within. @param {string} text */
function parts(text) {
  const hasComma = number(0.5).includes(",");
  return text.split(hasComma ? /(?:[;\s]|,(?=[,;\s]|$))+/ : /[,;\s]+/).filter(Boolean);
}

/** What the API has, as it stands in the field. @param {Rule} rule @param {any} value */
function written(rule, value) {
  if (value === null || value === undefined) return "";
  if (rule.kind === "number") return String(Number(value) / (FACTORS[rule.unit] ?? 1));
  if (rule.kind === "numbers") return many(rule, value).join(", ");
  if (rule.key === "cached_answers" && typeof value === "boolean") return value ? "on" : "off";
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** What holds everywhere, in words. @param {Rule} rule @param {string | null} value */
export function toldOf(rule, value) {
  if (rule.key === "prompt") return t("rules.prompt_everywhere");
  if (rule.key === "drafting") return word("rule_value.drafting", "false");
  if (value === null || value === "") return t(ALWAYS.includes(rule.key) ? "rules.always" : "rules.nothing");
  if (rule.kind === "numbers") return `${many(rule, value).map(number).join(", ")} ${word("unit", rule.unit)}`;
  if (rule.kind === "number") return `${number(Number(value) / (FACTORS[rule.unit] ?? 1))} ${word("unit", rule.unit)}`;
  if (rule.kind === "choice") return word(`rule_value.${rule.key}`, value);
  return value;
}

/** One number or several, as the API or the settings have them, in our unit. @param {NumberRule} rule @param {any} value @returns {number[]} */
function many(rule, value) {
  const all = Array.isArray(value) ? value : String(value).split(",");
  return all.map((one) => Number(one) / (FACTORS[rule.unit] ?? 1));
}
