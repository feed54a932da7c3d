// What can be asked of whole documents: its words, and the address of a conversation that begins with it.
import { api } from "./api.js";
import { gettext } from "./i18n.js";

let hasModel = true; // until the site says otherwise

const quoted = (/** @type {string[]} */ titles) => titles.map((title) => gettext("“{title}”", { title })).join(gettext(", "));

/** Of a button, and the words that stand in the composer. @type {Record<Api.Task, {label: string, icon: string, words: (titles: string[]) => string}>} */
export const TASKS = {
  summarise: { label: gettext("Summarise"), icon: "flow", words: (titles) => gettext("Summarise {titles}.", { titles: quoted(titles) }) },
  list: { label: gettext("List deadlines, amounts or contacts"), icon: "clock", words: (titles) => gettext("List the deadlines, amounts and contacts in {titles}.", { titles: quoted(titles) }) },
  compare: { label: gettext("Compare"), icon: "layers", words: ([older, newer]) => gettext("What differs between “{older}” and “{newer}”?", { older, newer }) },
};

/** Asks the site whether a model is connected. */
export async function lookForModel() {
  try {
    hasModel = (await api.get("/api/status")).online;
  } catch {
    hasModel = true; // unknown: the answer says what is wrong
  }
}

/** Why it cannot be done now; "" where it can. @param {Api.Task} task */
export function taskProblem(task) {
  return task === "list" && !hasModel ? gettext("Needs an AI model; none is connected.") : "";
}

/** @param {Api.Id[]} ids of a comparison the older one first @param {Api.Task} [task] none: a question about them */
export function askAddress(ids, task) {
  return `/?documents=${ids.join(",")}${task ? `&task=${task}` : ""}`;
}

/** The older one first. @param {Api.Document[]} rows */
export function byAge(rows) {
  const age = (/** @type {Api.Document} */ { superseded, policy_year, created_at }) => [superseded ? 0 : 1, policy_year ?? 0, created_at];
  return [...rows].sort((left, right) => {
    const at = age(left).findIndex((value, index) => value !== age(right)[index]);
    return at < 0 ? 0 : age(left)[at] < age(right)[at] ? -1 : 1;
  });
}
