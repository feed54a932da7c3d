// What people are told that steps, their states and reasons are called: chat/labels.py, as the page brings it.
import { bootData } from "./dom.js";

/** @type {Record<string, Record<string, string>> | undefined} */
let labels;

/** @typedef {"steps" | "states" | "details" | "tasks" | "task_states" | "tags" | "tools" | "after_steps"} Kind */

/** @param {Kind} kind @param {string} name */
export const labelOf = (kind, name) => knownLabel(kind, name) ?? name.replaceAll("_", " ");

/** Undefined where the list has no such name. @param {Kind} kind @param {string} name */
export function knownLabel(kind, name) {
  labels ??= document.querySelector("#boot") ? bootData().words ?? {} : {};
  return labels?.[kind]?.[name];
}
