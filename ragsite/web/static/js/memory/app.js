// The memory page: what is remembered, its search, deleting with a way back, and the switch.
import { api } from "../api.js";
import { bootData, byId, dateOf, debounce, h, iconButton, replace } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { Leaving } from "../leaving.js";
import { PagedRows } from "../paged.js";
import { announcer, confirmDialog, errorToast, toast } from "../ui.js";

/** @type {Boot.Memory} */
const boot = bootData();
const announce = announcer();
const list = byId("memories");
const search = byId("memory-search", HTMLInputElement);
const more = byId("more");
const emptyState = byId("empty");
const enabled = byId("enabled", HTMLInputElement);
/** @type {PagedRows<Api.Memory>} */
const memories = new PagedRows();
const going = new Leaving((id) => `/api/memory/${id}`, { draw, gone: (id) => memories.remove(id) });

// --------------------------------------------------------------------------------------------- the list
async function load() {
  list.setAttribute("aria-busy", "true");
  try {
    const words = search.value.trim();
    if (!(await memories.load(`/api/memory${words ? `?${new URLSearchParams({ search: words })}` : ""}`))) return;
    draw();
  } catch (error) {
    errorToast(error);
  }
  list.removeAttribute("aria-busy");
}

async function loadMore() {
  await memories.more().catch(errorToast);
  draw();
}

function draw() {
  const { rows, next, total } = memories;
  const shown = rows.filter(({ id }) => !going.has(id));
  const searching = Boolean(search.value.trim());
  replace(list, shown.map(memoryRow));
  more.hidden = !next;
  const left = Math.max(0, total - rows.filter(({ id }) => going.has(id)).length);
  byId("filters").hidden = !left && !searching;
  byId("clear").hidden = searching;
  byId("count").textContent = searching ? ngettext("{count} hit", "{count} hits", left) : gettext("{count} of at most {most}", { count: left, most: boot.max_per_user });
  emptyState.hidden = shown.length > 0 || Boolean(next);
  replace(emptyState, searching
    ? [h("h2", {}, gettext("Nothing found")), h("p", {}, gettext("No memory contains all of these words."))]
    : [h("h2", {}, gettext("No memories yet")), h("p", {}, gettext("Ask with “Thorough”, or with the workflow “Planned”, under the question. What their answers cite is kept here, one sentence each."))]);
}

/** @param {Api.Memory} row */
function memoryRow(row) {
  const used = row.use_count ? ` · ${ngettext("used {count} time", "used {count} times", row.use_count)}` : "";
  return h("li", { class: "memory", dataset: { id: row.id } },
    h("p", { class: "memory-question" }, row.question),
    h("p", { class: "memory-text" }, row.text),
    h("p", { class: "memory-meta" }, h("time", { datetime: row.updated_at }, dateOf(row.updated_at)), used),
    iconButton("trash", gettext("Delete this memory"), () => takeOff(row)));
}

// --------------------------------------------------------------------------------------------- deleting
/** @param {Api.Memory} row */
function takeOff(row) {
  const at = [...list.children].findIndex((item) => item.getAttribute("data-id") === row.id);
  going.begin(row.id, gettext("Deleted."));
  /** @type {HTMLElement | null | undefined} */
  const beside = list.children[Math.min(at, list.children.length - 1)]?.querySelector(".icon-button");
  (beside ?? search).focus({ preventScroll: true });
  announce(gettext("Deleted."));
}

async function clear() {
  const sure = await confirmDialog(gettext("Delete everything that is remembered?"), gettext("Conversations stay as they are. This can't be undone."), { confirm: gettext("Delete all") });
  if (!sure) return;
  try {
    await api.delete("/api/memory");
    going.ids.clear();
    announce(gettext("Everything was deleted."));
    toast(gettext("Everything was deleted."));
  } catch (error) {
    errorToast(error);
  }
  load();
}

// --------------------------------------------------------------------------------------------- the switch
/** @param {Api.MemorySettings} state */
function showSwitch(state) {
  enabled.checked = state.enabled;
  enabled.disabled = false;
  byId("enabled-note").textContent = state.enabled ? "" : gettext("Off: nothing is recalled, and nothing new is written.");
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
byId("clear").addEventListener("click", clear);
api.get("/api/memory/settings").then(showSwitch).catch(errorToast);
load();
