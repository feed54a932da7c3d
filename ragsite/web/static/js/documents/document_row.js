// One document: its state in words, its metadata, and what can be done with it.
import { api } from "../api.js";
import { bytes, dateOf, h, icon, iconButton } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { confirmDialog, errorToast, formDialog, menuButton, toast } from "../ui.js";
import { splitList } from "./collections.js";

/**
 * @typedef {{changed: () => unknown, removed: (id: Api.Id) => unknown}} On
 * @typedef {{writable: boolean, on: On}} Options `writable`: whether the user may change it
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
  const size = [row.page_count ? ngettext("{count} page", "{count} pages", row.page_count) : null, row.chunk_count ? ngettext("{count} passage", "{count} passages", row.chunk_count) : null].filter(Boolean);
  return h("span", { class: "doc-status is-ready" }, icon("check"), size.join(" · ") || gettext("Ready"));
}

/** @param {Api.Document} row */
export function metadataChips(row) {
  const values = [row.department, row.doc_type, row.policy_year, ...row.tags].filter(Boolean);
  return values.length ? h("span", { class: "doc-chips" }, values.map((value) => h("span", { class: "chip" }, value))) : null;
}

/**
 * @param {Api.Document} row
 * @param {Options & {collection: string | null}} options `collection`: its label, null where that is clear
 */
export function documentRow(row, { writable, collection, on }) {
  const more = iconButton("more", gettext("Options for {name}", { name: row.title }), null, { class: "small" });
  menuButton(more, () => documentOptions(row, { writable, on }));
  return h("li", { class: `doc${row.status === "failed" ? " is-failed" : ""}`, "data-id": row.id },
    h("div", { class: "doc-main" },
      h("a", { class: "doc-title", href: `/documents/${row.id}/` }, row.title),
      h("span", { class: "doc-meta" }, [row.file_name && row.file_name !== row.title ? row.file_name : null, bytes(row.size_bytes), collection].filter(Boolean).join(" · ")),
      metadataChips(row),
      row.status === "failed" && row.error ? h("p", { class: "doc-error" }, row.error) : null),
    statusBadge(row),
    h("time", { class: "doc-date", datetime: row.created_at }, dateOf(row.created_at)),
    more);
}

/** @param {Api.Document} row @param {Options} options */
export function documentOptions(row, { writable, on }) {
  return [
    { label: gettext("Open"), icon: "documents", href: `/documents/${row.id}/` },
    { label: gettext("Download the file"), icon: "download", href: `/api/documents/${row.id}/file`, download: true },
    writable ? { label: gettext("Edit details"), icon: "edit", run: () => editDocument(row, on.changed) } : null,
    writable ? { label: gettext("Delete"), icon: "trash", danger: true, run: () => removeDocument(row, on.removed) } : null,
  ];
}

const METADATA = [
  { name: "department", label: gettext("Department"), maxlength: 100, optional: true },
  { name: "doc_type", label: gettext("Type"), maxlength: 100, optional: true },
  { name: "policy_year", label: gettext("Year"), inputmode: "numeric", maxlength: 4, optional: true },
  { name: "tags", label: gettext("Tags"), optional: true, help: gettext("Separated by commas.") },
];

/** @param {Api.Document} row @param {() => unknown} changed */
function editDocument(row, changed) {
  const fields = [{ name: "title", label: gettext("Title"), value: row.title, maxlength: 300 },
    ...METADATA.map((field) => ({ ...field, value: field.name === "tags" ? row.tags.join(", ") : /** @type {any} */ (row)[field.name] ?? "" }))];
  return formDialog(gettext("Edit details"), fields, {
    save: async ({ title, department, doc_type, policy_year, tags }) => {
      await api.patch(`/api/documents/${row.id}`, {
        title: title.trim(), department: department.trim(), doc_type: doc_type.trim(), policy_year: yearFrom(policy_year), tags: splitList(tags),
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

/** @param {Api.Document} row @param {(id: Api.Id) => unknown} removed */
async function removeDocument(row, removed) {
  if (!(await confirmDialog(gettext("Delete “{name}”?", { name: row.title }), gettext("Its passages will no longer be found. Answers already given keep what they cited.")))) return;
  try {
    await api.delete(`/api/documents/${row.id}`);
    toast(gettext("Document deleted."));
    removed(row.id);
  } catch (error) {
    errorToast(error);
  }
}
