// One document's page: its passages, its state while it is being read, and its actions.
import { api, samePath } from "../api.js";
import { bootData, bytes, byId, h, icon, query, replace } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { errorToast, menuButton } from "../ui.js";
import { markTexts } from "../chat/evidence.js";
import { placeIn } from "../chat/source_panel.js";
import { drawPassage } from "../chat/stream_text.js";
import { documentOptions, isWorking, metadataChips, statusBadge } from "./document_row.js";

const POLL_MS = 1200;
/** @type {Boot.OneDocument} */
const boot = bootData();
const list = byId("chunks");
const more = byId("more");
const facts = byId("facts");
const FIRST_PAGE = `/api/documents/${boot.id}/chunks`;
/** @type {string | null} */
let next = FIRST_PAGE;
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
  replace(facts, statusBadge(row), row.size_bytes ? h("span", { class: "doc-meta" }, bytes(row.size_bytes)) : null, metadataChips(row));
  if (isWorking(row)) setTimeout(() => showDocument().catch(errorToast), POLL_MS);
  else if (wasWorking) {
    replace(list);
    next = FIRST_PAGE;
    await showChunks();
  }
}

/** @type {Promise<void> | null} */
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
  /** @type {Api.Page<Api.Chunk>} */
  const page = await api.get(next);
  next = page.next && samePath(page.next);
  list.append(...page.results.map(chunkRow));
  more.hidden = !next;
  if (!list.childElementCount) list.append(h("li", { class: "side-empty" }, gettext("No passages yet.")));
}

/** @param {Api.Chunk} chunk */
function chunkRow(chunk) {
  const pages = chunk.page_end && chunk.page_end !== chunk.page ? gettext("Pages {first}–{last}", { first: chunk.page, last: chunk.page_end }) : gettext("Page {page}", { page: chunk.page });
  const place = [chunk.page ? pages : null, placeIn({ title: row?.title || "", heading: chunk.heading })].filter(Boolean).join(" · ");
  return h("li", { class: "chunk", id: `chunk-${chunk.id}`, tabindex: "-1" },
    h("div", { class: "chunk-head" }, h("span", { class: "chunk-seq" }, chunk.seq + 1), h("span", {}, place),
      chunk.token_count ? h("span", { class: "muted" }, ngettext("{count} token", "{count} tokens", chunk.token_count)) : null),
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
  const quote = new URLSearchParams(location.search).get("quote") || "";
  // A passage may have been joined of several: what is quoted then stands beside the one that is named.
  const texts = [target, target.previousElementSibling, target.nextElementSibling].flatMap((row) => row?.querySelector(".chunk-text") ?? []);
  const mark = texts.map((text) => markTexts(text, quote.split("\n"))).find(Boolean);
  (mark || target).scrollIntoView({ block: "center" });
  target.focus({ preventScroll: true });
}

more.addEventListener("click", () => showChunks().catch(errorToast));
addEventListener("hashchange", () => showTarget().catch(errorToast));
const options = byId("document-menu");
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
