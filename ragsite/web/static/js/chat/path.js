// The decision path: how an answer came about, step by step.
import { h, icon, seconds } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { labelOf } from "../labels.js";
import { planTasks } from "./plan.js";
import { scoreLabel } from "./scores.js";

/** What passages are called, by chunk id, where their reader may know. @type {Record<string, string>} */
let names = {};

/**
 * A list of steps, each of which opens to its details. `total_ms` scales the bars.
 * @param {Api.Step[]} steps @param {Api.Usage} usage @param {Record<string, string>} passages titles by chunk id
 */
export function decisionPath(steps, usage = {}, passages = {}) {
  names = passages;
  const total = Math.max(usage.total_ms || 0, ...steps.map((step) => step.started_ms + step.duration_ms), 1);
  return h("div", { class: "path" },
    h("ol", { class: "path-steps" }, steps.map((step) => stepRow(step, total))),
    usageLine(usage));
}

/** @param {Api.Step} step @param {number} total ms */
function stepRow(step, total) {
  const bar = h("span", { class: "path-bar" });
  bar.style.setProperty("--from", `${(step.started_ms / total) * 100}%`);
  bar.style.setProperty("--width", `${Math.max((step.duration_ms / total) * 100, 0.8)}%`);
  const details = Object.entries(step.detail || {}).filter(([, value]) => !isEmpty(value));
  const head = [
    h("span", { class: "path-dot", "aria-hidden": "true" }),
    h("span", { class: "path-name" }, labelOf("steps", step.name)),
    step.status === "ok" ? h("span", { class: "visually-hidden" }, labelOf("states", "ok")) : h("span", { class: "path-status" }, labelOf("states", step.status)),
    h("span", { class: "path-time" }, seconds(step.duration_ms)),
    step.summary ? h("span", { class: "path-summary" }, step.summary) : null,
    h("span", { class: "path-track", "aria-hidden": "true" }, bar),
  ];
  const body = details.length
    ? h("details", {}, h("summary", { class: "path-head" }, head, icon("chevron")), h("dl", { class: "path-detail" }, details.map(detailRow)))
    : h("div", { class: "path-head" }, head);
  return h("li", { class: `path-step is-${step.status}`, "data-step": step.name }, body);
}

/** @param {unknown} value */
function isEmpty(value) {
  return value === null || value === "" || (typeof value === "object" && Object.keys(value).length === 0);
}

/** @param {[string, any]} entry */
function detailRow([key, value]) {
  const isPlan = key === "tasks" && Array.isArray(value) && value.every((task) => task?.id && task.type);
  const rows = key === "model_calls" ? callTable(value) : passageTable(key, value);
  const shown = isPlan ? planTasks(value) : rows ? table(labelOf("details", key), rows) : detailValue(value);
  return h("div", { class: isPlan || rows ? "is-wide" : null }, h("dt", {}, labelOf("details", key)), h("dd", {}, shown));
}

/** @param {string} label @param {[string[], any[][]]} rows */
function table(label, [head, rows]) {
  return h("div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": label }, h("table", { class: "path-table" },
    h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, typeof cell === "number" && !Number.isInteger(cell) ? cell.toFixed(3) : cell ?? "–")))))));
}

/** @param {string} id */
const passageName = (id) => names[id] ?? id.slice(0, 8);

/**
 * Details by passage: candidates with rank and score of each leg, scores, ratings' weight with where it comes from.
 * @param {string} key @param {any} value @returns {[string[], any[][]] | null} head and rows
 */
export function passageTable(key, value) {
  if (key === "candidates" && Array.isArray(value) && value.every((row) => row?.chunk_id)) {
    const legs = [...new Set(value.flatMap((row) => Object.keys(row.ranks || {})))];
    const scores = [...new Set(value.flatMap((row) => Object.keys(row.scores || {})))];
    return [[gettext("Passage"), ...scores.map(scoreLabel), ...legs.map((leg) => gettext("Rank: {leg}", { leg: scoreLabel(leg) }))],
      value.map((row) => [passageName(row.chunk_id), ...scores.map((name) => row.scores?.[name]), ...legs.map((leg) => row.ranks?.[leg])])];
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) return null;
  if (key === "scores" && Object.values(value).every((score) => typeof score === "number")) {
    return [[gettext("Passage"), gettext("Score")], Object.entries(value).sort((a, b) => b[1] - a[1]).map(([id, score]) => [passageName(id), score])];
  }
  if (key === "boosts" && Object.values(value).every((boost) => boost && typeof boost === "object")) {
    return [[gettext("Passage"), gettext("Weight"), gettext("Why")], Object.entries(value).map(([id, { multiplier, origin }]) => [passageName(id), multiplier, origin])];
  }
  return null;
}

/** @param {(Api.ModelCall & {prefill_ms?: number | null, generation_ms?: number | null})[]} calls @returns {[string[], any[][]]} */
function callTable(calls) {
  return [[gettext("Model"), gettext("Prompt"), gettext("Started"), gettext("Took"), gettext("Reading"), gettext("Writing"), gettext("Tokens")],
    calls.map((call) => [
      [call.model || call.kind, call.error ? h("p", { class: "review-error" }, call.error) : null], call.prompt || "–", seconds(call.started_ms),
      call.ended_ms === null ? gettext("not finished") : seconds(call.ended_ms - call.started_ms), seconds(call.prefill_ms) || "–", seconds(call.generation_ms) || "–",
      call.prompt_tokens || call.completion_tokens ? `${call.prompt_tokens} → ${call.completion_tokens}` : "–",
    ])];
}

/** @param {unknown} value @returns {Ui.Child} */
function detailValue(value) {
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : value.toFixed(3);
  if (typeof value === "boolean") return value ? gettext("yes") : gettext("no");
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((item) => typeof item !== "object" || item === null)) {
    return h("ul", { class: "path-values" }, value.map((item) => h("li", {}, detailValue(item ?? ""))));
  }
  if (isFlat(value)) return h("ul", { class: "path-values" }, pairs(value).map((pair) => h("li", {}, pair)));
  if (Array.isArray(value) && value.every((item) => isFlat(item))) return h("ul", { class: "path-values" }, value.map((item) => h("li", {}, pairs(item).join(" · "))));
  return h("pre", {}, JSON.stringify(value, null, 2));
}

/** Whether it is an object of single values, which needs no braces. @param {unknown} value @returns {value is Record<string, unknown>} */
function isFlat(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).every((item) => typeof item !== "object" || item === null);
}

/** @param {Record<string, unknown>} value */
const pairs = (value) => Object.entries(value).filter(([, item]) => item !== null && item !== "").map(([name, item]) => `${name.replaceAll("_", " ")}: ${detailValue(item)}`);

/** @param {Api.Usage} usage */
function usageLine(usage) {
  const parts = [
    usage.llm_calls !== undefined ? ngettext("{count} model call", "{count} model calls", usage.llm_calls) : null,
    usage.llm_rounds ? ngettext("{count} in a row before the first word", "{count} in a row before the first word", usage.llm_rounds) : null,
    usage.first_token_ms ? gettext("first word after {time}", { time: seconds(usage.first_token_ms) }) : null,
    usage.prompt_tokens ? ngettext("{count} token", "{count} tokens", usage.prompt_tokens + (usage.completion_tokens || 0)) : null,
    usage.total_ms ? gettext("{time} in total", { time: seconds(usage.total_ms) }) : null,
  ].filter(Boolean);
  return parts.length ? h("p", { class: "path-usage" }, parts.join(" · ")) : null;
}

// ------------------------------------------------------------------------------------------------ a plan
