// The queue: a row is chosen by the keyboard, several by their boxes.
import { api } from "../api.js";
import { bootData, byId, h, query, replace } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { confirmDialog, errorToast, formDialog, menuButton, toast } from "../ui.js";
import { listenForKeys } from "./keys.js";
import { STATES, assignDialog, labelDialog, mark, markAll, noteDialog, setState } from "./marking.js";

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

/** Changes what is picked, or else the row that is chosen. @param {import("./marking.js").Changes} changes */
async function change(changes) {
  const chosen = picked().length ? picked() : rows.slice(at, at + 1);
  if (at < 0 && !picked().length) return;
  try {
    if (chosen.length === 1 && !changes.add_labels) show(chosen[0])(await mark(idOf(chosen[0]), changes));
    else {
      const { changed } = await markAll(chosen.map(idOf), changes);
      toast(ngettext("{count} answer changed.", "{count} answers changed.", changed));
      setTimeout(() => location.reload(), 600);
    }
  } catch (error) {
    errorToast(error);
  }
}

/** The dialogs of several begin with nothing: what the answers have may differ. @param {(save: (changes: import("./marking.js").Changes) => Promise<unknown>) => unknown} open */
const withChosen = (open) => (picked().length || at >= 0 ? open(change) : undefined);
const assign = () => withChosen((save) => assignDialog(boot.people, boot.username, (assignee) => save({ assignee })));
const label = () => withChosen((save) => labelDialog(boot.labels, [], (labels) => save({ add_labels: labels })));
const note = () => withChosen(async (save) => {
  const chosen = picked().length ? picked() : rows.slice(at, at + 1);
  try {
    const given = chosen.length === 1 ? (await mark(idOf(chosen[0]), {})).note : ""; // one note goes on, it is not written anew
    await noteDialog(given, (text) => save({ note: text }));
  } catch (error) {
    errorToast(error);
  }
});

// ------------------------------------------------------------------------------------------- several
function showPicked() {
  const count = picked().length;
  bulk.hidden = !count;
  byId("bulk-replay", HTMLAnchorElement).search = `?answers=${picked().map(idOf).join(",")}`;
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

// ------------------------------------------------------------------------------------------- views and exports
const filters = byId("filters", HTMLFormElement);
filters.addEventListener("submit", () => {
  for (const field of filters.querySelectorAll(/** @type {"input"} */ ("input, select"))) {
    if (!field.value || (field.name === "sort" && field.value === "newest")) field.disabled = true; // an address to read
  }
});
query(filters, "[name=sort]", HTMLSelectElement).addEventListener("change", () => filters.requestSubmit());
addEventListener("pageshow", () => {
  for (const field of filters.querySelectorAll(/** @type {"input"} */ ("input, select"))) field.disabled = false;
});
byId("save-view").addEventListener("click", () => formDialog(gettext("Save as a view"), [
  { name: "name", label: gettext("Name"), maxlength: 80 },
  { name: "shared", label: gettext("For whom"), options: [["", gettext("For me")], ["1", gettext("For all at the desk")]] },
], {
  save: async ({ name, shared }) => {
    const given = Object.fromEntries([...new FormData(filters)].filter(([name, value]) => value && !(name === "sort" && value === "newest")));
    await api.post("/api/review/views", { name, filters: given, shared: Boolean(shared) });
    location.assign(`/review/?${new URLSearchParams(/** @type {Record<string, string>} */ (given))}`);
  },
}));
for (const button of document.querySelectorAll(/** @type {"button"} */ ("[data-delete-view]"))) {
  button.addEventListener("click", async () => {
    if (!await confirmDialog(gettext("Delete this view?"), button.dataset.name ?? "")) return;
    try {
      await api.delete(`/api/review/views/${button.dataset.deleteView}`);
      location.reload();
    } catch (error) {
      errorToast(error);
    }
  });
}
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
