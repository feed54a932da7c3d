// What people are told that steps, their states and reasons are called: chat/labels.py, as the page brings it.
import { bootData } from "./dom.js";

/** @type {Record<string, Record<string, string>> | undefined} */
let labels;

/** @param {"steps" | "states" | "details" | "tasks" | "task_states" | "tags"} kind @param {string} name */
export function labelOf(kind, name) {
  labels ??= document.querySelector("#boot") ? bootData().words ?? {} : {};
  return labels?.[kind]?.[name] ?? name.replaceAll("_", " ");
}
