// A plan as its graph of tasks: rows from top to bottom, tasks of one row side by side, each with its state.
import { h, seconds } from "../dom.js";
import { gettext } from "../i18n.js";

/** @type {Record<string, string>} */
const TYPES = {
  rewrite: gettext("Rephrase"), decompose: gettext("Split the question"), step_back: gettext("Step back"), hyde: gettext("Imagine an answer"),
  retrieve: gettext("Search"), text_search: gettext("Search by words"), vector_search: gettext("Search by meaning"), wide_search: gettext("Search wider"),
  web_search: gettext("Search the web"), rerank: gettext("Judge what was found"), evaluate: gettext("Judge what was found"),
};
/** @type {Record<string, string>} */
const STATES = { waiting: gettext("Waiting"), running: gettext("Running"), done: gettext("Done"), failed: gettext("Failed"), late: gettext("Took too long") };

/** @param {Api.PlanTask[]} tasks as the decision path's `plan` entry holds them */
export function planTasks(tasks) {
  return h("ol", { class: "plan", "aria-label": gettext("Plan") }, rows(tasks).map((row) => h("li", { class: "plan-row" },
    h("ul", { class: "plan-tasks" }, row.map(taskCard)))));
}

/**
 * Tasks by how many others come before them; one whose dependencies ran in an earlier plan stands first.
 * @param {Api.PlanTask[]} tasks
 */
export function rows(tasks) {
  const inside = new Map(tasks.map((task) => [task.id, task]));
  /** @type {Map<string, number>} */
  const depths = new Map();
  /** @param {Api.PlanTask} task @returns {number} */
  const depth = (task, seen = new Set()) => {
    const known = depths.get(task.id);
    if (known !== undefined) return known;
    const before = (task.depends_on || []).map((id) => inside.get(id)).filter((other) => other !== undefined).filter((other) => !seen.has(other.id));
    const rowsAbove = before.length ? 1 + Math.max(...before.map((other) => depth(other, new Set([...seen, task.id])))) : 0;
    depths.set(task.id, rowsAbove);
    return rowsAbove;
  };
  /** @type {Api.PlanTask[][]} */
  const result = [];
  for (const task of tasks) (result[depth(task)] ||= []).push(task);
  return result.filter(Boolean);
}

/** @param {Api.PlanTask} task */
function taskCard({ id, type, input, depends_on: after = [], state, note, duration_ms: duration }) {
  return h("li", { class: `plan-task is-${state}` },
    h("span", { class: "plan-dot", "aria-hidden": "true" }),
    h("span", { class: "plan-type" }, TYPES[type] || type.replaceAll("_", " ")),
    h("span", { class: "plan-state" }, [STATES[state] || state, state === "waiting" ? null : seconds(duration)].filter(Boolean).join(" · ")),
    input ? h("span", { class: "plan-input" }, input) : null,
    h("span", { class: "plan-note" }, [id, after.length ? gettext("after {tasks}", { tasks: after.join(", ") }) : null, note].filter(Boolean).join(" · ")));
}
