// What people are told that steps, their states and reasons are called: chat/labels.py, as the page brings it.
import { bootData, h } from "./dom.js";
import { gettext } from "./i18n.js";

/** @type {Record<string, Record<string, string>> | undefined} */
let labels;

const boot = document.getElementById("boot");
/** @type {Set<Api.Id | null>} the samples that the site came with, as far as the page knows of them */
const samples = new Set(boot ? JSON.parse(boot.textContent).sample_documents ?? [] : []);

/** Says of a source, or a document, that it is one of them. */
export const sampleBadge = () => h("span", { class: "sample-badge" }, gettext("Sample"));

/** @param {Api.Source} source */
export const badgeOf = (source) => (samples.has(source.document_id) ? sampleBadge() : null);

/** @typedef {"steps" | "states" | "details" | "tasks" | "task_states" | "tags" | "tools" | "after_steps"} Kind */

/** @param {Kind} kind @param {string} name */
export const labelOf = (kind, name) => knownLabel(kind, name) ?? name.replaceAll("_", " ");

/** Undefined where the list has no such name. @param {Kind} kind @param {string} name */
export function knownLabel(kind, name) {
  labels ??= document.querySelector("#boot") ? bootData().words ?? {} : {};
  return labels?.[kind]?.[name];
}
