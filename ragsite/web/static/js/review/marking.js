// What is changed of answers at the desk: state, assignee, labels, note.
import { api } from "../api.js";
import { gettext } from "../i18n.js";
import { errorToast, formDialog, toast } from "../ui.js";

/** @typedef {"todo" | "reviewed" | "resolved"} State */
/** @typedef {{state?: State, assignee?: string | null, note?: string, labels?: string[]}} Changes */

/** @type {Record<State, string>} */
export const STATES = { todo: gettext("New"), reviewed: gettext("Reviewed"), resolved: gettext("Resolved") };

/** @param {Api.Id} id @param {Changes} changes @returns {Promise<Api.Review>} */
export const mark = (id, changes) => api.patch(`/api/review/answers/${id}`, changes);

/**
 * Sets the state of one answer, with a way back. `shown(review)` draws it.
 * @param {Api.Id} id @param {State} state @param {State} before @param {(review: Api.Review) => unknown} shown
 */
export async function setState(id, state, before, shown) {
  if (state === before) return;
  try {
    shown(await mark(id, { state }));
  } catch (error) {
    errorToast(error);
    return;
  }
  toast(STATES[state], { action: { label: gettext("Undo"), run: () => setState(id, before, state, shown) } });
}

/** @param {string} text @returns {string[]} */
export const labelsIn = (text) => [...new Set(text.split(/[,，、;；]/).map((label) => label.trim()).filter(Boolean))];

/** @param {string[]} people @param {string | null} chosen @param {(name: string | null) => Promise<unknown>} save */
export const assignDialog = (people, chosen, save) => formDialog(gettext("Assign"), [
  { name: "assignee", label: gettext("Reviewer"), value: chosen ?? "", options: [["", gettext("Nobody")], ...people.map((name) => /** @type {[string, string]} */ ([name, name]))] },
], { save: ({ assignee }) => save(assignee || null) });

/** @param {string[]} known @param {string[]} given @param {(labels: string[]) => Promise<unknown>} save */
export const labelDialog = (known, given, save) => formDialog(gettext("Label"), [
  {
    name: "labels", label: gettext("Labels"), value: given.join(", "),
    help: known.length ? gettext("Separated by commas. In use: {labels}", { labels: known.slice(0, 12).join(", ") }) : gettext("Separated by commas."),
  },
], { save: ({ labels }) => save(labelsIn(labels)) });

/** @param {string} given @param {(note: string) => Promise<unknown>} save */
export const noteDialog = (given, save) => formDialog(gettext("Note"), [
  { name: "note", label: gettext("Note"), type: "textarea", value: given, rows: 5, maxlength: 4000, help: gettext("Everybody at the desk can read it.") },
], { save: ({ note }) => save(note) });
