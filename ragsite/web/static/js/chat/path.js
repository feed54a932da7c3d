// The decision path: how an answer came about, step by step.
import { capitalized, h, icon, seconds } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";

/** @type {Record<string, string>} */
const LABELS = {
  memory: gettext("Recall"), condense: gettext("Understand in context"), route: gettext("Choose the way"), plan: gettext("Plan"), rewrite: gettext("Rephrase"),
  step_back: gettext("Step back"), decompose: gettext("Split the question"), hyde: gettext("Imagine an answer"), retrieve: gettext("Search"), fuse: gettext("Merge results"),
  boost: gettext("Apply feedback"), dedupe: gettext("Remove repeats"), rerank: gettext("Rank"), assess: gettext("Judge the evidence"), grade: gettext("Grade passages"),
  refine: gettext("Search again"), web_search: gettext("Search the web"), compress: gettext("Shorten"), order: gettext("Order"), clarify: gettext("Ask back"),
  generate: gettext("Write"), verify: gettext("Check the answer"), reflect: gettext("Reflect"), consolidate: gettext("Remember"),
};
/** @type {Record<string, string>} */
const STATUS = { ok: gettext("Done"), skipped: gettext("Skipped"), degraded: gettext("Fallback used"), failed: gettext("Failed") };

/** @type {Record<string, string>} of a step's details; others are called by their names */
const DETAILS = {
  accepted: gettext("Accepted"), boosts: gettext("Boosts"),
  by_model: gettext("By model"), cached: gettext("Cached"),
  candidates: gettext("Candidates"), chunk_ids: gettext("Chunk ids"), cited: gettext("Cited"), complexity: gettext("Complexity"),
  completeness: gettext("Completeness"), corrective: gettext("Corrective"), decision: gettext("Decision"),
  documents: gettext("Documents"), dropped: gettext("Dropped"), engine: gettext("Engine"),
  evidence: gettext("Evidence"), factuality: gettext("Factuality"), facts: gettext("Facts"), fact: gettext("Fact"),
  filters: gettext("Filters"), found: gettext("Found"), from_model: gettext("From model"),
  given: gettext("Given"), grounding: gettext("Grounding"), judge: gettext("Judge"),
  kept: gettext("Kept"), keywords: gettext("Keywords"), legs: gettext("Legs"), lifted: gettext("Lifted"),
  looked: gettext("Looked"), merged: gettext("Merged"), missing: gettext("Missing"), model: gettext("Model"),
  model_calls: gettext("Model calls"), nearest: gettext("Nearest"), new: gettext("New"),
  notes: gettext("Notes"), of: gettext("Of"), options: gettext("Options"),
  original: gettext("Original"), outcome: gettext("Outcome"), partial: gettext("Partial"), pass_count: gettext("Pass count"),
  pass_rate: gettext("Pass rate"), pass_threshold: gettext("Pass threshold"), passage: gettext("Passage"),
  passed_in_all: gettext("Passed in all"), problems: gettext("Problems"), queries: gettext("Queries"), query: gettext("Query"),
  reason: gettext("Reason"), relaxed: gettext("Relaxed"), relevance: gettext("Relevance"),
  repairs: gettext("Repairs"), replaced: gettext("Replaced"), reranker: gettext("Reranker"), results: gettext("Results"),
  retry: gettext("Retry"), revision: gettext("Revision"), rewrite: gettext("Rewrite"), rewrite_reason: gettext("Rewrite reason"),
  rewritten: gettext("Rewritten"), route: gettext("Route"), score: gettext("Score"), scores: gettext("Scores"),
  stage: gettext("Stage"), standalone_question: gettext("Standalone question"), statements: gettext("Statements"),
  stop: gettext("Stop"), supported: gettext("Supported"), tasks: gettext("Tasks"), timings_ms: gettext("Timings ms"),
  total_count: gettext("Total count"), tried: gettext("Tried"), type: gettext("Type"), verdict: gettext("Verdict"),
  waited_for_index_s: gettext("Waited for index s"), why: gettext("Why"),
};

/** @param {string} key */
export const detailLabel = (key) => DETAILS[key] || capitalized(key.replaceAll("_", " "));

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
export function isEmpty(value) {
  return value === null || value === "" || (typeof value === "object" && Object.keys(value).length === 0);
}

/** @param {[string, any]} entry */
export function detailRow([key, value]) {
  const isPlan = key === "tasks" && Array.isArray(value) && value.every((task) => task?.id && task.type);
  return h("div", { class: isPlan ? "is-wide" : null }, h("dt", {}, detailLabel(key)),
    h("dd", {}, isPlan ? planTasks(value) : key === "model_calls" ? modelCalls(value) : detailValue(value)));
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

/** @param {Api.ModelCall[]} calls */
function modelCalls(calls) {
  return h("ul", { class: "path-values" }, calls.map((call) => h("li", {},
    `${call.model || call.kind} `,
    h("span", { class: "muted" }, [
      call.prompt, call.ended_ms === null ? null : seconds(call.ended_ms - call.started_ms),
      call.prompt_tokens ? gettext("{read} → {written} tokens", { read: call.prompt_tokens, written: call.completion_tokens }) : null, call.error,
    ].filter(Boolean).join(" · ")))));
}

/** @param {Api.Usage} usage */
function usageLine(usage) {
  const parts = [
    usage.llm_calls !== undefined ? ngettext("{count} model call", "{count} model calls", usage.llm_calls) : null,
    usage.llm_rounds ? ngettext("{count} round before the first word", "{count} rounds before the first word", usage.llm_rounds) : null,
    usage.first_token_ms ? gettext("first word after {time}", { time: seconds(usage.first_token_ms) }) : null,
    usage.prompt_tokens ? ngettext("{count} token", "{count} tokens", usage.prompt_tokens + (usage.completion_tokens || 0)) : null,
    usage.total_ms ? gettext("{time} in all", { time: seconds(usage.total_ms) }) : null,
  ].filter(Boolean);
  return parts.length ? h("p", { class: "path-usage" }, parts.join(" · ")) : null;
}

// ------------------------------------------------------------------------------------------------ a plan
/** @type {Record<string, string>} */
const TASK_TYPES = {
  rewrite: gettext("Rephrase"), decompose: gettext("Split the question"), step_back: gettext("Step back"), hyde: gettext("Imagine an answer"),
  retrieve: gettext("Search"), text_search: gettext("Search by words"), vector_search: gettext("Search by meaning"), wide_search: gettext("Search wider"),
  web_search: gettext("Search the web"), rerank: gettext("Judge what was found"), evaluate: gettext("Judge what was found"),
};
/** @type {Record<string, string>} */
const TASK_STATES = { waiting: gettext("Waiting"), running: gettext("Running"), done: gettext("Done"), failed: gettext("Failed"), late: gettext("Took too long") };

/** @param {Api.PlanTask[]} tasks as the decision path's `plan` entry holds them */
export function planTasks(tasks) {
  return h("ol", { class: "plan", "aria-label": gettext("Plan") }, tasks.map(taskCard));
}

/** @param {Api.PlanTask} task */
function taskCard({ id, type, input, depends_on: after = [], state, note, duration_ms: duration }) {
  return h("li", { class: `plan-task is-${state}` },
    h("span", { class: "plan-dot", "aria-hidden": "true" }),
    h("span", { class: "plan-type" }, TASK_TYPES[type] || type.replaceAll("_", " ")),
    h("span", { class: "plan-state" }, [TASK_STATES[state] || state, state === "waiting" ? null : seconds(duration)].filter(Boolean).join(" · ")),
    input ? h("span", { class: "plan-input" }, input) : null,
    h("span", { class: "plan-note" }, [id, after.length ? gettext("after {tasks}", { tasks: after.join(", ") }) : null, note].filter(Boolean).join(" · ")));
}
