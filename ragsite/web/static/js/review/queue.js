// The queue: a row is chosen by the keyboard, several by their boxes.
import { bootData, byId, h, query, replace } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { errorToast, menuButton, toast } from "../ui.js";
import { listenForKeys } from "./keys.js";
import { STATES, assignDialog, labelDialog, mark, noteDialog, setState } from "./marking.js";

/** @type {Boot.Review} */
const boot = bootData();
/** @type {HTMLElement[]} */
const rows = [...document.querySelectorAll(/** @type {"li"} */ (".review-row"))];
const bulk = byId("bulk");
let at = -1;

/** @param {HTMLElement} row */
const box = (row) => query(row, "[data-pick]", HTMLInputElement);
/** @param {HTMLElement} row */
const idOf = (row) => /** @type {string} */ (row.dataset.id);
const picked = () => rows.filter((row) => box(row).checked);

// ------------------------------------------------------------------------------------------- one row
/** @param {number} index */
function choose(index) {
  if (!rows.length) return;
  rows[at]?.classList.remove("is-chosen");
  at = Math.max(0, Math.min(rows.length - 1, index));
  const row = rows[at];
  row.classList.add("is-chosen");
  query(row, ".review-question").focus({ preventScroll: true });
  row.scrollIntoView?.({ block: "nearest" });
}

/** @param {number} step */
function move(step) {
  const edge = at + step;
  if (at >= 0 && (edge < 0 || edge >= rows.length)) {
    /** @type {HTMLAnchorElement | null} */
    const page = document.querySelector(step < 0 ? ".review-pages [rel=prev]" : ".review-pages [rel=next]");
    page?.click();
    return;
  }
  choose(edge);
}

/** @param {HTMLElement} row @returns {(review: Api.Review) => void} */
const show = (row) => (review) => {
  row.dataset.state = review.state;
  row.classList.toggle("is-done", review.state !== "todo");
  replace(query(row, "[data-state-text]"), STATES[review.state]);
  replace(query(row, "[data-assignee]"), review.assignee ? `→ ${review.assignee}` : "");
  for (const chip of row.querySelectorAll(".chip.is-label")) chip.remove();
  query(row, ".review-chips").append(...review.labels.map((label) => h("span", { class: "chip is-label" }, label)));
};

/** @param {import("./marking.js").State} state */
function markState(state) {
  if (picked().length) return change({ state });
  const row = rows[at];
  return row && setState(idOf(row), state, /** @type {import("./marking.js").State} */ (row.dataset.state), show(row));
}

const chosen = () => (picked().length ? picked() : at < 0 ? [] : [rows[at]]);
/** @param {HTMLElement} row */
const labelsOf = (row) => [...row.querySelectorAll(".chip.is-label")].map((chip) => chip.textContent ?? "");

/** Changes what is picked, or else the row that is chosen. @param {import("./marking.js").Changes | ((row: HTMLElement) => import("./marking.js").Changes)} changes */
async function change(changes) {
  const marked = chosen();
  try {
    for (const row of marked) show(row)(await mark(idOf(row), typeof changes === "function" ? changes(row) : changes));
    if (marked.length > 1) toast(ngettext("{count} answer changed.", "{count} answers changed.", marked.length));
  } catch (error) {
    errorToast(error);
  }
}

const assign = () => chosen().length && assignDialog(boot.people, boot.username, (assignee) => change({ assignee }));
/** The dialogs of several begin with nothing, and add: what the answers have may differ. */
const label = () => chosen().length && labelDialog(boot.labels, chosen().length === 1 ? labelsOf(chosen()[0]) : [], (labels) =>
  change(chosen().length === 1 ? { labels } : (row) => ({ labels: [...new Set([...labelsOf(row), ...labels])] })));
const note = async () => {
  if (!chosen().length) return;
  try {
    const given = chosen().length === 1 ? (await mark(idOf(chosen()[0]), {})).note : ""; // one note goes on, it is not written anew
    await noteDialog(given, (text) => change({ note: text }));
  } catch (error) {
    errorToast(error);
  }
};

// ------------------------------------------------------------------------------------------- several
function showPicked() {
  const count = picked().length;
  bulk.hidden = !count;
  replace(byId("picked"), ngettext("{count} selected", "{count} selected", count));
  byId("select-all", HTMLInputElement).checked = Boolean(count) && count === rows.length;
}
/** @param {boolean} on */
function pickAll(on) {
  for (const row of rows) box(row).checked = on;
  showPicked();
}
for (const row of rows) {
  box(row).addEventListener("change", showPicked);
  row.addEventListener("focusin", () => {
    rows[at]?.classList.remove("is-chosen");
    at = rows.indexOf(row);
    row.classList.add("is-chosen");
  });
}
// Picked before this script was there, or kept by the browser on the way back.
if (byId("select-all", HTMLInputElement).checked) pickAll(true);
else showPicked();
byId("select-all", HTMLInputElement).addEventListener("change", (event) => pickAll(/** @type {HTMLInputElement} */ (event.target).checked));
byId("bulk-none").addEventListener("click", () => pickAll(false));
byId("bulk-assign").addEventListener("click", assign);
byId("bulk-label").addEventListener("click", label);
byId("bulk-note").addEventListener("click", note);
for (const button of bulk.querySelectorAll(/** @type {"button"} */ ("[data-mark]"))) {
  button.addEventListener("click", () => change({ state: /** @type {import("./marking.js").State} */ (button.dataset.mark) }));
}

// ------------------------------------------------------------------------------------------- filters and exports
const filters = byId("filters", HTMLFormElement);
filters.addEventListener("submit", () => {
  for (const field of filters.querySelectorAll(/** @type {"input"} */ ("input, select"))) {
    if (!field.value || (field.name === "sort" && field.value === "newest")) field.disabled = true; // an address to read
  }
});
for (const choice of filters.querySelectorAll(".review-sort select")) choice.addEventListener("change", () => filters.requestSubmit());
addEventListener("pageshow", () => {
  for (const field of filters.querySelectorAll(/** @type {"input"} */ ("input, select"))) field.disabled = false;
});
const exporter = document.querySelector(/** @type {"button"} */ ("#export"));
if (exporter) {
  /** @param {string} more */
  const address = (more) => `/api/review/export?${[exporter.dataset.query, more].filter(Boolean).join("&")}`;
  const named = boot.rights.includes("names");
  menuButton(exporter, [
    { label: gettext("CSV, anonymised"), icon: "download", href: address("format=csv&names=0"), download: true },
    { label: gettext("JSONL, anonymised"), icon: "download", href: address("format=jsonl&names=0"), download: true },
    named ? { label: gettext("CSV, with names"), icon: "people", href: address("format=csv&names=1"), download: true } : null,
    named ? { label: gettext("JSONL, with names"), icon: "people", href: address("format=jsonl&names=1"), download: true } : null,
  ]);
}

listenForKeys({
  j: () => move(1), k: () => move(-1), x: () => { if (rows[at]) { box(rows[at]).checked = !box(rows[at]).checked; showPicked(); } },
  Enter: () => rows[at] && query(rows[at], ".review-question", HTMLAnchorElement).click(),
  r: () => markState("reviewed"), e: () => markState("resolved"), t: () => markState("todo"),
  a: () => change({ assignee: boot.username }), l: label, n: note,
  "/": () => query(filters, "[name=search]", HTMLInputElement).focus(),
});
