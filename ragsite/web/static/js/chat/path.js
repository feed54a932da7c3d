// The decision path: how an answer came about, step by step.
import { capitalized, h, icon, plural, seconds } from "../dom.js";
import { planTasks } from "./plan.js";

/** @type {Record<string, string>} */
const LABELS = {
  memory: "Recall", condense: "Understand in context", route: "Choose the way", plan: "Plan", rewrite: "Rephrase",
  step_back: "Step back", decompose: "Split the question", hyde: "Imagine an answer", retrieve: "Search", fuse: "Merge results",
  boost: "Apply feedback", dedupe: "Remove repeats", rerank: "Rank", assess: "Judge the evidence", grade: "Grade passages",
  refine: "Search again", web_search: "Search the web", compress: "Shorten", order: "Order", clarify: "Ask back",
  generate: "Write", verify: "Check the answer", reflect: "Reflect", consolidate: "Remember",
};
/** @type {Record<string, string>} */
const STATUS = { ok: "Done", skipped: "Skipped", degraded: "Fallback used", failed: "Failed" };

/** @param {string} name */
export const stepLabel = (name) => LABELS[name] || name.replaceAll("_", " ");

/**
 * A list of steps, each of which opens to its details. `total_ms` scales the bars.
 * @param {Api.Step[]} steps
 * @param {Api.Usage} usage
 */
export function decisionPath(steps, usage = {}) {
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
    h("span", { class: "path-name" }, stepLabel(step.name)),
    step.status === "ok" ? h("span", { class: "visually-hidden" }, STATUS.ok) : h("span", { class: "path-status" }, STATUS[step.status] || step.status),
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
  return h("div", { class: isPlan ? "is-wide" : null }, h("dt", {}, capitalized(key.replaceAll("_", " "))),
    h("dd", {}, isPlan ? planTasks(value) : key === "model_calls" ? modelCalls(value) : detailValue(value)));
}

/** @param {unknown} value @returns {Ui.Child} */
function detailValue(value) {
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : value.toFixed(3);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((item) => typeof item !== "object" || item === null)) {
    return h("ul", { class: "path-values" }, value.map((item) => h("li", {}, detailValue(item ?? ""))));
  }
  return h("pre", {}, JSON.stringify(value, null, 2));
}

/** @param {Api.ModelCall[]} calls */
function modelCalls(calls) {
  return h("ul", { class: "path-values" }, calls.map((call) => h("li", {},
    `${call.model || call.kind} `,
    h("span", { class: "muted" }, [
      call.prompt, call.ended_ms === null ? null : seconds(call.ended_ms - call.started_ms),
      call.prompt_tokens ? `${call.prompt_tokens} → ${call.completion_tokens} tokens` : null, call.error,
    ].filter(Boolean).join(" · ")))));
}

/** @param {Api.Usage} usage */
function usageLine(usage) {
  const parts = [
    usage.llm_calls !== undefined ? plural(usage.llm_calls, "model call") : null,
    usage.llm_rounds ? `${plural(usage.llm_rounds, "round")} before the first word` : null,
    usage.first_token_ms ? `first word after ${seconds(usage.first_token_ms)}` : null,
    usage.prompt_tokens ? plural(usage.prompt_tokens + (usage.completion_tokens || 0), "token") : null,
    usage.total_ms ? `${seconds(usage.total_ms)} in all` : null,
  ].filter(Boolean);
  return parts.length ? h("p", { class: "path-usage" }, parts.join(" · ")) : null;
}
