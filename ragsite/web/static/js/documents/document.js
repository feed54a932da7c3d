// One document's page: its passages, its state while it is being read, and its actions.
import { api, samePath } from "../api.js";
import { bootData, bytes, h, icon, plural, replace } from "../dom.js";
import { errorToast, menuButton } from "../ui.js";
import { drawPassage } from "../chat/stream_text.js";
import { documentOptions, isWorking, metadataChips, statusBadge } from "./document_row.js";

const POLL_MS = 1200;
const boot = bootData();
const list = document.getElementById("chunks");
const more = document.getElementById("more");
const facts = document.getElementById("facts");
const FIRST_PAGE = `/api/documents/${boot.id}/chunks`;
let next = FIRST_PAGE;
let row = null;

async function showDocument() {
  try {
    row = await api.get(`/api/documents/${boot.id}`);
  } catch (error) {
    errorToast(error);
    return;
  }
  document.getElementById("page-title").textContent = row.title;
  const error = document.getElementById("document-error");
  error.hidden = row.status !== "failed";
  error.querySelector("p").textContent = row.error || "";
  replace(facts, statusBadge(row), row.size_bytes ? h("span", { class: "doc-meta" }, bytes(row.size_bytes)) : null, metadataChips(row));
  const wasWorking = list.dataset.waits === "1";
  list.dataset.waits = isWorking(row) ? "1" : "";
  if (isWorking(row)) setTimeout(() => showDocument().catch(errorToast), POLL_MS);
  else if (wasWorking) {
    replace(list);
    next = FIRST_PAGE;
    await showChunks();
  }
}

let loading = null;

/** The next page of passages; calls at the same time share one load. */
function showChunks() {
  loading ??= loadChunks().finally(() => {
    loading = null;
  });
  return loading;
}

async function loadChunks() {
  if (!next) return;
  const page = await api.get(next);
  next = page.next && samePath(page.next);
  list.append(...page.results.map(chunkRow));
  more.hidden = !next;
  const none = h("li", { class: "side-empty" }, "No passages yet.");
  if (!list.childElementCount) list.append(none);
}

function chunkRow(chunk) {
  const pages = chunk.page_end && chunk.page_end !== chunk.page ? `Pages ${chunk.page}–${chunk.page_end}` : `Page ${chunk.page}`;
  const heading = (chunk.heading || "").split(" › ").filter((part) => part && part !== row?.title).join(" › ");
  const place = [chunk.page ? pages : null, heading].filter(Boolean).join(" · ");
  return h("li", { class: "chunk", id: `chunk-${chunk.id}`, tabindex: "-1" },
    h("div", { class: "chunk-head" }, h("span", { class: "chunk-seq" }, (chunk.seq ?? 0) + 1), h("span", {}, place),
      chunk.token_count ? h("span", { class: "muted" }, plural(chunk.token_count, "token")) : null),
    h("div", { class: "chunk-text prose", dir: "auto" }, drawPassage(chunk.text)));
}

/** The passage that the address names: pages are loaded until it is there. */
async function showTarget() {
  const id = decodeURIComponent(location.hash.slice(1));
  if (!id.startsWith("chunk-")) return;
  while (next && !document.getElementById(id)) await showChunks();
  const target = document.getElementById(id);
  if (!target) return;
  for (const old of list.querySelectorAll(".is-target")) old.classList.remove("is-target");
  target.classList.add("is-target");
  target.scrollIntoView({ block: "center" });
  target.focus({ preventScroll: true });
}

more.addEventListener("click", () => showChunks().catch(errorToast));
addEventListener("hashchange", () => showTarget().catch(errorToast));
const options = document.getElementById("document-menu");
replace(options, icon("more"));
menuButton(options, () => row ? documentOptions(row, {
  writable: row.editable,
  on: { changed: showDocument, removed: () => location.assign(`/documents/?collection=${encodeURIComponent(boot.collection)}`) },
}).slice(1) : []);

try {
  await showDocument();
  await showChunks();
  await showTarget();
} catch (error) {
  errorToast(error);
}
