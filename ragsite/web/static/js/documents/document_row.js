// One document: its state in words, its metadata, and what can be done with it.
import { api, upload } from "../api.js";
import { TASKS, askAddress, taskProblem } from "../document_tasks.js";
import { bytes, dateOf, dateOfDay, h, icon, iconButton } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { sampleBadge } from "../labels.js";
import { confirmDialog, errorToast, formDialog, menuButton, toast } from "../ui.js";
import { splitList } from "./collections.js";

/**
 * @typedef {{changed: () => unknown, removed: (id: Api.Id) => unknown, selected?: (row: Api.Document, is: boolean) => unknown,
 *   leave?: (row: Api.Document) => unknown}} On `leave`: deletes a row with a way back; without it, it is asked for first
 * @typedef {{writable: boolean, owned?: boolean, on: On}} Options `writable`: whether the user may change it; `owned`: and share it
 */

/** @type {Record<string, string>} */
const WORKING = { queued: gettext("Waiting for its turn"), parsing: gettext("Reading"), embedding: gettext("Indexing") };

/** @param {Api.Document} row */
export const isWorking = (row) => row.status in WORKING;

/** @param {Api.Document} row */
export function statusBadge(row) {
  if (isWorking(row)) {
    const share = Math.round(row.progress * 100);
    const bar = row.status === "queued"
      ? h("span", { class: "spinner", "aria-hidden": "true" })
      : h("progress", { max: 100, value: share, "aria-label": `${WORKING[row.status]} ${row.title}` });
    return h("span", { class: "doc-status is-working" }, bar, h("span", {}, WORKING[row.status], row.status === "queued" || !share ? "" : ` ${share} %`));
  }
  if (row.status === "failed") return h("span", { class: "doc-status is-failed" }, icon("warn"), gettext("Could not be read"));
  const size = [row.page_count ? ngettext("{count} page", "{count} pages", row.page_count) : null, row.chunk_count ? ngettext("{count} passage", "{count} passages", row.chunk_count) : null, row.word_count ? ngettext("{count} word", "{count} words", row.word_count) : null].filter(Boolean);
  return h("span", { class: "doc-status is-ready" }, icon("check"), size.join(" · ") || gettext("Ready"));
}

/** @param {Api.Document} row */
export function metadataChips(row) {
  const values = [row.department, row.doc_type, row.policy_year, ...row.tags].filter(Boolean);
  return values.length ? h("span", { class: "doc-chips" }, values.map((value) => h("span", { class: "chip" }, value))) : null;
}

/**
 * @param {Api.Document} row
 * @param {Options & {collection: string | null, selected?: boolean}} options `collection`: its label, null where that is clear
 */
export function documentRow(row, { writable, owned, collection, selected = false, on }) {
  const more = iconButton("more", gettext("Options for {name}", { name: row.title }), null, { class: "small" });
  menuButton(more, () => documentOptions(row, { writable, owned, on }));
  return h("li", { class: `doc${row.status === "failed" ? " is-failed" : ""}${selected ? " is-selected" : ""}`, "data-id": row.id },
    h("label", { class: "doc-select" }, h("input", { type: "checkbox", class: "doc-tick", checked: selected, "aria-label": gettext("Select {name}", { name: row.title }), onchange: (event) => on.selected?.(row, event.target.checked) })),
    h("div", { class: "doc-main" },
      h("a", { class: "doc-title", dir: "auto", href: `/documents/${row.id}/` }, h("bdi", {}, row.title)),
      row.superseded ? h("span", {}, h("span", { class: "doc-badge" }, gettext("Earlier version"))) : null,
      row.overdue && row.review_due ? h("span", {}, h("span", { class: "doc-badge" }, reviewText(row.review_due, true))) : null,
      h("span", { class: "doc-meta" }, row.is_sample ? sampleBadge() : null, [row.file_name && row.file_name !== row.title ? row.file_name : null, bytes(row.size_bytes), collection].filter(Boolean).join(" · ")),
      metadataChips(row),
      row.status === "failed" && row.error ? h("p", { class: "doc-error" }, row.error) : null),
    statusBadge(row),
    h("time", { class: "doc-date", datetime: row.created_at }, dateOf(row.created_at)),
    more);
}

/** @param {string} day by which it is, or was, to be reviewed @param {boolean} overdue */
export function reviewText(day, overdue) {
  const date = dateOfDay(day);
  return overdue ? gettext("Review was due on {date}", { date }) : gettext("Review by {date}", { date });
}

/** What can be asked of one document. @param {Api.Document} row @returns {{label: string, icon: string, href: string, problem?: string}[]} */
export function documentTasks({ id, status, superseded }) {
  if (status !== "ready") return [];
  const button = (/** @type {Api.Task} */ task) => ({ label: TASKS[task].label, icon: TASKS[task].icon, href: askAddress([id], task), problem: taskProblem(task) });
  return [
    ...(superseded ? [] : [{ label: gettext("Ask about this"), icon: "chat", href: askAddress([id]) }]), // it is not searched
    button("summarise"),
    button("list"),
  ];
}

/** @param {Api.Document} row @param {Options} options */
export function documentOptions(row, { writable, owned, on }) {
  return [
    ...documentTasks(row),
    { label: gettext("Open the document"), icon: "documents", href: `/documents/${row.id}/` },
    { label: gettext("Download the file"), icon: "download", href: `/api/documents/${row.id}/file`, download: true },
    owned ? { label: gettext("Share…"), icon: "people", href: `/documents/${row.id}/sharing/` } : null,
    writable ? { label: gettext("Edit details"), icon: "edit", run: () => editDocument(row, on.changed) } : null,
    writable && !row.superseded ? { label: gettext("Replace by a new version…"), icon: "upload", run: () => replaceDocument(row, on.changed) } : null,
    writable && !row.superseded && !isWorking(row) ? { label: gettext("Read again"), icon: "retry", run: () => readAgain(row, on.changed) } : null,
    writable ? { label: gettext("Delete"), icon: "trash", danger: true, run: () => (on.leave ? on.leave(row) : removeDocument(row, on.removed)) } : null,
  ];
}

/** Sends a file that takes the document's place once it is read. @param {Api.Document} row @param {() => unknown} changed */
function replaceDocument(row, changed) {
  const input = h("input", { type: "file", class: "visually-hidden", "aria-label": gettext("New version of {name}", { name: row.title }) });
  input.addEventListener("change", async () => {
    const [file] = input.files || [];
    if (!file) return;
    const form = new FormData();
    form.append("replaces", row.id);
    form.append("file", file, file.name);
    try {
      await upload("/api/documents", form, () => null);
      toast(gettext("Uploaded. It replaces “{name}” as soon as it has been read.", { name: row.title }), { ms: 8000 });
      changed();
    } catch (error) {
      errorToast(error);
    }
    input.remove();
  });
  document.body.append(input);
  input.click();
}

/** @param {Api.Document} row @param {() => unknown} changed */
async function readAgain(row, changed) {
  try {
    const [result] = await bulk("read_again", [row.id]);
    toast(result.error || gettext("It is being read again. Until that is done, searches do not find it."));
    changed();
  } catch (error) {
    errorToast(error);
  }
}

/**
 * One action on many documents; what became of each.
 * @param {string} action @param {Api.Id[]} ids @param {Record<string, unknown>} [more]
 * @returns {Promise<Api.BulkResult[]>}
 */
export async function bulk(action, ids, more = {}) {
  return (await api.post("/api/documents/bulk", { action, ids, ...more })).results;
}

export const METADATA = [
  { name: "department", label: gettext("Department"), maxlength: 100, optional: true },
  { name: "doc_type", label: gettext("Type"), maxlength: 100, optional: true },
  { name: "policy_year", label: gettext("Year"), inputmode: "numeric", maxlength: 4, optional: true },
  { name: "tags", label: gettext("Tags"), optional: true, help: gettext("Separated by commas.") },
  { name: "review_by", label: gettext("Review by"), type: "date", optional: true },
];

/** @param {Api.Document} row @param {() => unknown} changed */
function editDocument(row, changed) {
  const fields = [{ name: "title", label: gettext("Title"), value: row.title, maxlength: 300 },
    ...METADATA.map((field) => ({ ...field, value: field.name === "tags" ? row.tags.join(", ") : /** @type {any} */ (row)[field.name] ?? "" }))];
  return formDialog(gettext("Edit details"), fields, {
    save: async ({ title, department, doc_type, policy_year, tags, review_by }) => {
      await api.patch(`/api/documents/${row.id}`, {
        title: title.trim(), department: department.trim(), doc_type: doc_type.trim(), policy_year: yearFrom(policy_year), tags: splitList(tags),
        review_by: review_by || null,
      });
      changed();
    },
  });
}

/** None, a number, or what was written: then the server says what is wrong with it. @param {string} text */
export function yearFrom(text) {
  const year = text.trim();
  return year === "" ? null : /^\d+$/.test(year) ? Number(year) : year;
}

/** What its end means for the version before it, behind another sentence. @param {Api.Document} row */
export const freesVersion = (row) => (row.replaces && !row.superseded ? ` ${gettext("The earlier version is searched again.")}` : "");

/** @param {Api.Document} row @param {(id: Api.Id) => unknown} removed */
async function removeDocument(row, removed) {
  const before = freesVersion(row);
  if (!(await confirmDialog(gettext("Delete “{name}”?", { name: row.title }), gettext("Its passages will no longer be found. Earlier answers keep their citations.") + before))) return;
  try {
    await api.delete(`/api/documents/${row.id}`);
    toast(gettext("Document deleted."));
    removed(row.id);
  } catch (error) {
    errorToast(error);
  }
}
