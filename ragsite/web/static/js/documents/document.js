// One document's page: the document itself with its passages as an overlay, its state while it is read, its actions.
import { api } from "../api.js";
import { bootData, bytes, byId, dateOf, h, icon, query, replace, store } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { lookForModel } from "../document_tasks.js";
import { sampleBadge } from "../labels.js";
import { errorToast, menuButton, toast } from "../ui.js";
import { documentFigure } from "./content.js";
import { documentOptions, documentTasks, isWorking, metadataChips, reviewText, statusBadge } from "./document_row.js";

const POLL_MS = 1200;
/** @type {Boot.OneDocument} */
const boot = bootData();
const view = byId("view");
const facts = byId("facts");
/** @type {Api.Document | null} */
let row = null;

async function showDocument() {
  /** @type {Api.Document} */
  let loaded;
  try {
    loaded = await api.get(`/api/documents/${boot.id}`);
  } catch (error) {
    errorToast(error);
    return;
  }
  const wasWorking = row !== null && isWorking(row);
  row = loaded;
  byId("page-title").textContent = row.title;
  const problem = byId("document-error");
  problem.hidden = row.status !== "failed";
  query(problem, "p").textContent = row.error;
  replace(facts, row.superseded ? h("span", { class: "doc-badge" }, gettext("Earlier version")) : null, row.is_sample ? sampleBadge() : null, statusBadge(row), row.size_bytes ? h("span", { class: "doc-meta" }, bytes(row.size_bytes)) : null, metadataChips(row));
  showTasks(row);
  showReview(row);
  if (isWorking(row)) setTimeout(showDocument, POLL_MS);
  else if (wasWorking) location.reload();
}

/** By when it is to be reviewed, and the way to say that it still holds. @param {Api.Document} row */
function showReview({ review_due: due, reviewed_at: at, overdue, superseded, editable }) {
  const line = byId("review");
  line.hidden = !due || superseded;
  if (!due || superseded) return;
  const more = h("button", { type: "button", class: "button small" }, icon("check"), gettext("It still holds"), icon("chevron"));
  const months = [...new Set([3, 6, 12, 24, boot.review_months])].sort((one, other) => one - other);
  menuButton(more, months.map((count) => ({
    label: ngettext("Review again in {count} month", "Review again in {count} months", count), checked: count === boot.review_months, radio: true, run: () => confirmHolds(count),
  })), { align: "start" });
  line.classList.toggle("is-overdue", overdue);
  replace(line, icon(overdue ? "warn" : "clock"),
    h("span", {}, [reviewText(due, overdue), at ? gettext("reviewed on {date}", { date: dateOf(at) }) : null].filter(Boolean).join(" · ")),
    editable ? more : null);
}

/** @param {number} months */
async function confirmHolds(months) {
  try {
    await api.post(`/api/documents/${boot.id}/reviewed`, { months });
    toast(gettext("Saved."));
    showDocument();
  } catch (error) {
    errorToast(error);
  }
}

/** What can be asked of it, and what cannot without a model. @param {Api.Document} row */
function showTasks(row) {
  const tasks = documentTasks(row);
  const problem = tasks.find((task) => task.problem)?.problem;
  replace(byId("tasks"), tasks.map((task) => (task.problem
    ? h("button", { type: "button", class: "button small", disabled: true, "aria-describedby": "task-problem" }, icon(task.icon), task.label)
    : h("a", { class: "button small", href: task.href }, icon(task.icon), task.label))),
  problem ? h("span", { class: "doc-meta", id: "task-problem" }, problem) : null);
}

// --------------------------------------------------------------------------------------------- the document itself
/** Shows the part that the address names, else the first one. */
function showPart() {
  if (!row) return;
  const isThere = row.status === "ready";
  byId("view-tools").hidden = !isThere;
  if (!isThere) {
    replace(view, row.status === "failed" ? null : h("p", { class: "side-empty" }, gettext("It can be read here as soon as it is ready.")));
    return;
  }
  const target = decodeURIComponent(location.hash.slice(1));
  const quotes = (new URLSearchParams(location.search).get("quote") || "").split("\n").filter(Boolean);
  replace(view, documentFigure({ id: boot.id, title: row.title, isPdf: /^(application\/pdf|image\/.+)$/.test(row.media_type) }, {
    chunk: target.startsWith("chunk-") ? target.slice("chunk-".length) : "", quotes, hasChunks: true,
  }));
}

/** @param {boolean} shown */
function showChunks(shown) {
  view.classList.toggle("shows-chunks", shown);
  byId("show-chunks").setAttribute("aria-pressed", String(shown));
  store.set("passages", shown ? "1" : "");
}

byId("show-chunks").addEventListener("click", () => showChunks(!view.classList.contains("shows-chunks")));
showChunks(store.get("passages") === "1");
addEventListener("hashchange", showPart);
const options = byId("document-menu");
replace(options, icon("more"));
menuButton(options, () => row ? documentOptions(row, {
  writable: row.editable,
  on: { changed: showDocument, removed: () => location.assign(`/documents/?collection=${encodeURIComponent(boot.collection)}`) },
}).slice(documentTasks(row).length + 1) : []);

await Promise.all([lookForModel().then(() => row && showTasks(row)), showDocument()]);
showPart();
