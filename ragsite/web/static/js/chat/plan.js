// The plan of a search: its tasks, and how far each is.
import { h, seconds } from "../dom.js";
import { gettext } from "../i18n.js";
import { labelOf } from "../labels.js";

/** @param {Api.PlanTask[]} tasks as the decision path's `plan` entry holds them */
export function planTasks(tasks) {
  return h("ol", { class: "plan", "aria-label": gettext("Plan") }, tasks.map(taskCard));
}

/** @param {Api.PlanTask} task */
function taskCard({ id, type, input, depends_on: after = [], state, note, duration_ms: duration }) {
  return h("li", { class: `plan-task is-${state}` },
    h("span", { class: "plan-dot", "aria-hidden": "true" }),
    h("span", { class: "plan-type" }, labelOf("tasks", type)),
    h("span", { class: "plan-state" }, [labelOf("task_states", state), state === "waiting" ? null : seconds(duration)].filter(Boolean).join(" · ")),
    input ? h("span", { class: "plan-input" }, input) : null,
    h("span", { class: "plan-note" }, [id, after.length ? gettext("after {tasks}", { tasks: after.join(gettext(", ")) }) : null, note].filter(Boolean).join(" · ")));
}
