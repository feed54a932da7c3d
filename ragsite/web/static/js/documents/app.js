// The documents page: collections at the side, uploads and the list with live progress.
import { api } from "../api.js";
import { bootData, bytes, byId, debounce, h, icon, iconButton, query, replace } from "../dom.js";
import { LOCALE, gettext, ngettext } from "../i18n.js";
import { lookForModel } from "../document_tasks.js";
import { Leaving } from "../leaving.js";
import { PagedRows } from "../paged.js";
import { announcer, errorToast, menuButton } from "../ui.js";
import { Collections, isUnapproved, wantsReembedding } from "./collections.js";
import { documentRow, freesVersion, isWorking } from "./document_row.js";
import { offerSamples } from "./samples.js";
import { Selection } from "./selection.js";
import { Uploads } from "./uploads.js";

const POLL_MS = 1200;

/** @type {Boot.Documents} */
const boot = bootData();
void lookForModel();
const announce = announcer();
const list = byId("document-list");
const title = byId("page-title");
const actions = byId("page-actions");
const search = byId("document-search", HTMLInputElement);
const details = byId("upload-details", HTMLFormElement);
const field = query(details, "[name=collection]", HTMLInputElement);
const moreFilters = byId("more-filters", HTMLFormElement);
const emptyState = byId("empty");
const more = byId("more");
/** @type {PagedRows<Api.Document>} */
const documents = new PagedRows();
const leaving = new Leaving((id) => `/api/documents/${id}`, { draw, gone: removed });
/** @type {Api.Status | null} */
let models = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

const selection = new Selection(byId("selection"), {
  shown: () => documents.rows,
  collections: () => collections.rows.filter(({ editable }) => editable).map((row) => ({ value: row.id, label: collections.labelOf(row) })),
  onChange: () => draw(),
  onDone: () => {
    load({ quiet: true });
    refreshCollections();
  },
});
const collections = new Collections(byId("collection-list"), {
  username: boot.username,
  onChoose: (id) => {
    const row = collections.find(id);
    history.replaceState(null, "", row ? `?collection=${encodeURIComponent(collections.addressOf(row))}` : location.pathname);
    document.dispatchEvent(new CustomEvent("ragsite:navigated"));
    showHeader();
    load();
  },
});
const loaded = collections.load();
const uploads = new Uploads({
  ready: loaded, input: byId("files", HTMLInputElement), list: byId("uploads"), summary: byId("upload-summary"), accept: boot.accept, limits: boot.limits,
  target: () => Object.fromEntries([...new FormData(details)].map(([name, value]) => [name, String(value).trim()])),
  onStored: () => {
    load({ quiet: true });
    refreshCollections();
  },
  onAllRead: announce,
});
const refreshCollections = debounce(() => {
  collections.load().then(showHeader);
  showUsage();
}, 400);

const status = () => query(document, '[name="status"]:checked', HTMLInputElement).value;

function filters() {
  const others = /** @type {Record<string, string>} */ (Object.fromEntries(new FormData(moreFilters)));
  const values = { collection: collections.current, status: status() === "working" ? "" : status(), search: search.value.trim(), ...others };
  return new URLSearchParams(Object.entries(values).filter(([, value]) => value)).toString();
}

// --------------------------------------------------------------------------------------------- the list
async function load({ quiet = false } = {}) {
  clearTimeout(timer);
  if (!quiet) list.setAttribute("aria-busy", "true");
  try {
    const before = documents.rows;
    if (!(await documents.load(`/api/documents?${filters()}`))) return;
    for (const row of documents.rows) {
      const was = before.find(({ id }) => id === row.id)?.status;
      if (was && was !== row.status && !isWorking(row)) {
        if (row.status === "ready") void offerSamples();
        if (!uploads.counts(row.id)) announce(row.status === "ready" ? gettext("{title} is ready.", { title: row.title }) : gettext("{title} could not be read. {error}", { title: row.title, error: row.error }));
        refreshCollections();
      }
    }
    draw();
    selection.keepShown();
  } catch (error) {
    if (!quiet) errorToast(error);
  }
  list.removeAttribute("aria-busy");
  if (documents.rows.some(isWorking)) timer = setTimeout(() => load({ quiet: true }), POLL_MS);
}

async function loadMore() {
  await documents.more().catch(errorToast);
  draw();
}

function draw() {
  if (document.querySelector("body > .menu")) return; // an open menu belongs to a row: leave it until the next look
  const focused = document.activeElement?.closest("[data-id]")?.getAttribute("data-id");
  const shown = documents.rows.filter(({ id }) => !leaving.has(id));
  replace(list, shown.map((row) => documentRow(row, {
    writable: row.editable,
    owned: Boolean(collections.find(row.collection_id)?.owned),
    collection: collections.current ? null : collectionOf(row),
    selected: selection.ids.has(row.id),
    on: { changed: () => load({ quiet: true }), leave, removed, selected: select },
  })));
  /** @type {HTMLElement | null} */
  const again = list.querySelector(`[data-id="${focused}"] .icon-button`);
  again?.focus({ preventScroll: true });
  more.hidden = !documents.next;
  const filtered = Boolean(status() || search.value.trim() || isNarrowed());
  byId("filters").hidden = moreFilters.hidden = !shown.length && !filtered;
  emptyState.hidden = shown.length > 0;
  replace(emptyState, filtered
    ? [h("h2", {}, gettext("Nothing found")), h("p", {}, gettext("No document matches. Try fewer filters."))]
    : [h("h2", {}, collections.current ? gettext("This collection is empty") : gettext("No documents yet")), h("p", {}, gettext("Drop files here or choose them above. You can ask about them as soon as they are ready."))]);
}

/** Whether one of the choices leaves something out. */
const isNarrowed = () => [...moreFilters.querySelectorAll("select")].some((choice) => choice.name !== "sort" && choice.selectedIndex > 0);

/** @param {Api.Document} row @param {boolean} is */
function select(row, is) {
  selection.set(row.id, is);
  list.querySelector(`[data-id="${row.id}"]`)?.classList.toggle("is-selected", is);
}

/** @param {Api.Document} row */
function collectionOf(row) {
  const collection = collections.find(row.collection_id);
  return collection ? collections.labelOf(collection) : row.collection;
}

/** Off the list; deleted as soon as it can't be undone any more. @param {Api.Document} row */
function leave(row) {
  selection.set(row.id, false);
  const said = gettext("Document deleted.") + freesVersion(row);
  announce(said);
  leaving.begin(row.id, said);
}

/** @param {Api.Id} id */
function removed(id) {
  documents.remove(id);
  draw();
  refreshCollections();
}

// --------------------------------------------------------------------------------------------- the header
function showHeader() {
  const row = collections.find(collections.current);
  title.textContent = row ? collections.labelOf(row) : gettext("All documents");
  document.title = `${title.textContent} · Ragsite`;
  const description = byId("description");
  description.textContent = row?.description || "";
  description.hidden = !row?.description;
  const buttons = [];
  if (row?.owned) {
    const options = iconButton("more", gettext("Collection options"), null);
    menuButton(options, collections.options(row));
    buttons.push(options);
  }
  replace(actions, row ? h("a", { class: "button small", href: `/?collections=${encodeURIComponent(row.address)}` }, icon("chat"), gettext("Ask this collection")) : null, buttons);
  const readOnly = row !== undefined && !row.editable;
  byId("upload").hidden = readOnly;
  byId("read-only").hidden = !readOnly;
  byId("unapproved").hidden = !isUnapproved(row);
  const unasked = byId("unasked", HTMLFormElement);
  unasked.hidden = !(row?.visibility === "shared" && row.owner && !row.owned);
  unasked.action = `/documents/shares/${row?.id}/`;
  for (const part of unasked.querySelectorAll(/** @type {"p"} */ ("[data-searched]"))) part.hidden = part.dataset.searched !== (row?.searched ? "1" : "0");
  byId("reembed").hidden = !wantsReembedding(row, models);
  showTarget(row);
}

/** What one's own documents take up, and what they may. */
async function showUsage() {
  const line = byId("usage");
  try {
    /** @type {Api.DocumentsUsage} */
    const { documents, storage_bytes: storage } = await api.get("/api/documents/usage");
    const count = ngettext("{count} document", "{count} documents", documents.used);
    const used = bytes(storage.used) || "0 B";
    line.textContent = [
      documents.allowed === null ? gettext("Yours: {documents}", { documents: count }) : gettext("Yours: {used} of {allowed} documents", { used: documents.used.toLocaleString(LOCALE), allowed: documents.allowed.toLocaleString(LOCALE) }),
      storage.allowed === null ? used : gettext("{used} of {allowed}", { used, allowed: bytes(storage.allowed) }),
    ].join(" · ");
    line.hidden = false;
  } catch {
    line.hidden = true; // The uploads say for themselves when there is no room.
  }
}

/** Where uploads go to. @param {Api.Collection | undefined} row the collection that is shown */
function showTarget(row) {
  replace(byId("collection-names"), collections.rows.filter(({ editable }) => editable).map((choice) => h("option", { value: collections.addressOf(choice) })));
  if (row) field.value = collections.addressOf(row);
  else if (!field.value || !field.dataset.touched) field.value = collections.rows.find(({ owner }) => owner === boot.username)?.name || boot.default_collection;
  byId("upload-target").textContent = field.value;
}

field.addEventListener("input", () => {
  field.dataset.touched = "1";
  byId("upload-target").textContent = field.value || boot.default_collection;
});
search.addEventListener("input", debounce(() => load(), 200));
moreFilters.addEventListener("change", () => load());
moreFilters.addEventListener("submit", (event) => event.preventDefault());
for (const choice of document.querySelectorAll('[name="status"]')) choice.addEventListener("change", () => load());
more.addEventListener("click", loadMore);
byId("new-collection").addEventListener("click", () => collections.create());
byId("choose").addEventListener("click", () => byId("files").click());
details.addEventListener("submit", (event) => event.preventDefault());

loaded.then(() => {
  collections.current = collections.find(new URLSearchParams(location.search).get("collection"))?.id || "";
  query(moreFilters, "[name=review]", HTMLSelectElement).value = new URLSearchParams(location.search).get("review") === "overdue" ? "overdue" : "";
  collections.draw();
  showHeader();
  load();
});
showUsage();
void offerSamples();
api.get("/api/status").then((answer) => {
  models = answer;
  showHeader();
}).catch(() => null);
