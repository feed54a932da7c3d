// The memory page: what is remembered, its search, deleting with a way back, and the switch.
import { api, request, samePath } from "../api.js";
import { bootData, dateOf, debounce, h, iconButton, plural, replace } from "../dom.js";
import { announcer, confirmDialog, errorToast, toast } from "../ui.js";

const UNDO_MS = 6000;

const boot = bootData();
const announce = announcer();
const element = (id) => document.getElementById(id);
const [list, search, more, emptyState, enabled] = ["memories", "memory-search", "more", "empty", "enabled"].map(element);
let rows = [];
let next = null;
let total = 0;
let asked = null;
const going = new Map(); // id → timer: taken off the page, deleted when the time for a change of mind is over

// --------------------------------------------------------------------------------------------- the list
async function load() {
  const mine = (asked = Symbol("query"));
  list.setAttribute("aria-busy", "true");
  try {
    const words = search.value.trim();
    const page = await api.get(`/api/memory${words ? `?${new URLSearchParams({ search: words })}` : ""}`);
    if (mine !== asked) return;
    rows = page.results;
    next = page.next;
    total = page.count;
    draw();
  } catch (error) {
    if (mine === asked) errorToast(error);
  }
  list.removeAttribute("aria-busy");
}

async function loadMore() {
  const mine = asked;
  try {
    const page = await api.get(samePath(next));
    if (mine !== asked) return;
    const known = new Set(rows.map(({ id }) => id));
    rows.push(...page.results.filter(({ id }) => !known.has(id)));
    next = page.next;
    draw();
  } catch (error) {
    errorToast(error);
  }
}

function draw() {
  const shown = rows.filter(({ id }) => !going.has(id));
  const searching = Boolean(search.value.trim());
  replace(list, shown.map(memoryRow));
  more.hidden = !next;
  const left = Math.max(0, total - rows.filter(({ id }) => going.has(id)).length);
  element("filters").hidden = !left && !searching;
  element("clear").hidden = searching;
  element("count").textContent = searching ? plural(left, "hit") : `${left} of at most ${boot.max_per_user}`;
  emptyState.hidden = shown.length > 0 || Boolean(next);
  replace(emptyState, searching
    ? [h("h2", {}, "Nothing found"), h("p", {}, "Nothing that is remembered has all of these words.")]
    : [h("h2", {}, "Nothing is remembered yet"), h("p", {}, "Ask with “Dual loop” or “Planned”, under the question. What their answers cite is kept here, one sentence each.")]);
}

function memoryRow(row) {
  const used = row.use_count ? ` · used ${plural(row.use_count, "time")}` : "";
  return h("li", { class: "memory", dataset: { id: row.id } },
    h("p", { class: "memory-question" }, row.question),
    h("p", { class: "memory-text" }, row.text),
    h("p", { class: "memory-meta" }, h("time", { datetime: row.updated_at }, dateOf(row.updated_at)), used),
    iconButton("trash", "Delete this memory", () => takeOff(row)));
}

// --------------------------------------------------------------------------------------------- deleting
function takeOff(row) {
  const at = [...list.children].findIndex((item) => item.dataset.id === row.id);
  going.set(row.id, setTimeout(() => forget(row.id), UNDO_MS));
  draw();
  (list.children[Math.min(at, list.children.length - 1)]?.querySelector(".icon-button") ?? search).focus({ preventScroll: true });
  announce("Deleted.");
  toast("Deleted.", { ms: UNDO_MS, action: { label: "Undo", run: () => keep(row.id) } });
}

function keep(id) {
  clearTimeout(going.get(id));
  if (going.delete(id)) draw();
}

async function forget(id, options = {}) {
  clearTimeout(going.get(id));
  try {
    await request("DELETE", `/api/memory/${id}`, options);
  } catch (error) {
    if (error.status !== 404) {
      going.delete(id);
      draw();
      errorToast(error);
      return;
    }
  }
  going.delete(id);
  rows = rows.filter((row) => row.id !== id);
  total = Math.max(0, total - 1);
  draw();
}

async function clear() {
  const sure = await confirmDialog("Delete everything that is remembered?", "Conversations stay as they are. This can't be undone.", { confirm: "Delete all" });
  if (!sure) return;
  try {
    await api.delete("/api/memory");
    for (const timer of going.values()) clearTimeout(timer);
    going.clear();
    announce("Everything was deleted.");
    toast("Everything was deleted.");
  } catch (error) {
    errorToast(error);
  }
  load();
}

// Who leaves within the time for a change of mind has made it up.
addEventListener("pagehide", () => {
  for (const id of [...going.keys()]) forget(id, { keepalive: true });
});

// --------------------------------------------------------------------------------------------- the switch
function showSwitch(state) {
  enabled.checked = state.enabled;
  enabled.disabled = false;
  element("enabled-note").textContent = state.enabled ? "" : "Off: nothing is recalled, and nothing new is written.";
}

enabled.addEventListener("change", async () => {
  const wanted = enabled.checked;
  try {
    showSwitch(await api.patch("/api/memory/settings", { enabled: wanted }));
  } catch (error) {
    enabled.checked = !wanted;
    errorToast(error);
  }
});
search.addEventListener("input", debounce(load, 200));
more.addEventListener("click", loadMore);
element("clear").addEventListener("click", clear);
api.get("/api/memory/settings").then(showSwitch).catch(errorToast);
load();
