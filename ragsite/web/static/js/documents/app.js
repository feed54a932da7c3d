// The documents page: collections at the side, uploads and the list with live progress.
import { api, samePath } from "../api.js";
import { bootData, bytes, debounce, h, icon, iconButton, replace } from "../dom.js";
import { announcer, errorToast, menuButton } from "../ui.js";
import { Collections, isUnapproved } from "./collections.js";
import { documentRow, isWorking } from "./document_row.js";
import { Uploads } from "./uploads.js";

const POLL_MS = 1200;

const boot = bootData();
const announce = announcer();
const element = (id) => document.getElementById(id);
const [list, title, actions, search, details, emptyState, more] = [
  "document-list", "page-title", "page-actions", "document-search", "upload-details", "empty", "more",
].map(element);
let rows = [];
let next = null;
let models = null;
let timer = null;
let asked = null;

const collections = new Collections(element("collection-list"), {
  groups: boot.groups, username: boot.username, mayPublish: boot.may_publish,
  onChoose: (id) => {
    const row = collections.find(id);
    history.replaceState(null, "", row ? `?collection=${encodeURIComponent(collections.addressOf(row))}` : location.pathname);
    document.dispatchEvent(new CustomEvent("ragsite:navigated"));
    showHeader();
    load();
  },
});
new Uploads({
  zone: element("dropzone"), input: element("files"), list: element("uploads"), accept: boot.accept, limits: boot.limits,
  target: () => Object.fromEntries([...new FormData(details)].map(([name, value]) => [name, value.trim()])),
  onStored: () => {
    load({ quiet: true });
    refreshCollections();
  },
});
const refreshCollections = debounce(() => {
  collections.load().then(showHeader);
  showUsage();
}, 400);

const status = () => document.querySelector('[name="status"]:checked').value;

function query() {
  const values = { collection: collections.current, status: status() === "working" ? "" : status(), search: search.value.trim() };
  return new URLSearchParams(Object.entries(values).filter(([, value]) => value)).toString();
}

// --------------------------------------------------------------------------------------------- the list
async function load({ quiet = false } = {}) {
  clearTimeout(timer);
  const mine = (asked = Symbol("query"));
  if (!quiet) list.setAttribute("aria-busy", "true");
  try {
    const page = await api.get(`/api/documents?${query()}`);
    if (mine !== asked) return;
    const before = new Map(rows.map((row) => [row.id, row.status]));
    rows = page.results;
    next = page.next;
    for (const row of rows) {
      const was = before.get(row.id);
      if (was && was !== row.status && !isWorking(row)) {
        announce(row.status === "ready" ? `${row.title} is ready.` : `${row.title} could not be read. ${row.error}`);
        refreshCollections();
      }
    }
    draw();
  } catch (error) {
    if (mine !== asked) return;
    if (!quiet) errorToast(error);
  }
  list.removeAttribute("aria-busy");
  if (rows.some(isWorking)) timer = setTimeout(() => load({ quiet: true }), POLL_MS);
}

async function loadMore() {
  try {
    const page = await api.get(samePath(next));
    rows.push(...page.results);
    next = page.next;
    draw();
  } catch (error) {
    errorToast(error);
  }
}

function draw() {
  const focused = document.activeElement?.closest?.("[data-id]")?.dataset.id;
  if (document.querySelector("body > .menu")) return; // an open menu belongs to a row: leave it until the next look
  replace(list, rows.map((row) => documentRow(row, {
    writable: row.editable,
    collection: collections.current ? null : collectionOf(row),
    on: { changed: () => load({ quiet: true }), removed: removed },
  })));
  if (focused) list.querySelector(`[data-id="${focused}"] .icon-button`)?.focus({ preventScroll: true });
  more.hidden = !next;
  const filtered = Boolean(status() || search.value.trim());
  element("filters").hidden = !rows.length && !filtered;
  emptyState.hidden = rows.length > 0;
  replace(emptyState, filtered
    ? [h("h2", {}, "Nothing found"), h("p", {}, "No document has these words in its title, or this state.")]
    : [h("h2", {}, collections.current ? "This collection is empty" : "No documents yet"), h("p", {}, "Drop files here or choose them above. They can be asked about as soon as they are ready.")]);
}

function collectionOf(row) {
  const collection = collections.find(row.collection_id);
  return collection ? collections.labelOf(collection) : row.collection;
}

function removed(id) {
  rows = rows.filter((row) => row.id !== id);
  draw();
  refreshCollections();
}

// --------------------------------------------------------------------------------------------- the header
function showHeader() {
  const row = collections.find(collections.current);
  title.textContent = row ? collections.labelOf(row) : "All documents";
  document.title = `${title.textContent} · Ragsite`;
  const description = element("description");
  description.textContent = row?.description || "";
  description.hidden = !row?.description;
  const buttons = [];
  if (row && collections.canWrite(row)) {
    const options = iconButton("more", "Collection options", null);
    menuButton(options, collections.options(row));
    buttons.push(options);
  }
  replace(actions, row ? h("a", { class: "button small", href: "/", onclick: () => askIn(row.id) }, icon("chat"), "Ask this collection") : null, buttons);
  const readOnly = Boolean(row) && !collections.canWrite(row);
  element("upload").hidden = readOnly;
  element("read-only").hidden = !readOnly;
  element("unapproved").hidden = !isUnapproved(row);
  showTarget(row);
  const hint = element("reembed");
  hint.hidden = !collections.wantsReembedding(row, models);
}

/** What one's own documents take up, and what they may. */
async function showUsage() {
  const line = element("usage");
  try {
    const { documents, storage_bytes: storage } = await api.get("/api/documents/usage");
    const count = documents.used === 1 ? "1 document" : `${documents.used.toLocaleString()} documents`;
    const used = bytes(storage.used) || "0 B";
    line.textContent = [
      documents.allowed === null ? `Yours: ${count}` : `Yours: ${documents.used.toLocaleString()} of ${documents.allowed.toLocaleString()} documents`,
      storage.allowed === null ? used : `${used} of ${bytes(storage.allowed)}`,
    ].join(" · ");
    line.hidden = false;
  } catch {
    line.hidden = true; // The uploads say for themselves when there is no room.
  }
}

function askIn(id) {
  try {
    localStorage.setItem("ragsite.collections", JSON.stringify([id]));
  } catch {
    // Then the choice is made on the chat page.
  }
}

function showTarget(row) {
  const field = details.elements.collection;
  replace(element("collection-names"), collections.writable().map((one) => h("option", { value: collections.addressOf(one) })));
  if (row) field.value = collections.addressOf(row);
  else if (!field.value || !field.dataset.touched) field.value = collections.rows.find(({ owner }) => owner === boot.username)?.name || boot.default_collection;
  element("upload-target").textContent = field.value;
}

details.elements.collection.addEventListener("input", (event) => {
  event.target.dataset.touched = "1";
  element("upload-target").textContent = event.target.value || boot.default_collection;
});
search.addEventListener("input", debounce(() => load(), 200));
for (const choice of document.querySelectorAll('[name="status"]')) choice.addEventListener("change", () => load());
more.addEventListener("click", loadMore);
element("new-collection").addEventListener("click", () => collections.create());
element("choose").addEventListener("click", () => element("files").click());
details.addEventListener("submit", (event) => event.preventDefault());

collections.load().then(() => {
  collections.current = collections.find(new URLSearchParams(location.search).get("collection"))?.id || "";
  collections.draw();
  showHeader();
  load();
});
showUsage();
api.get("/api/status").then((answer) => {
  models = answer;
  showHeader();
}).catch(() => null);
