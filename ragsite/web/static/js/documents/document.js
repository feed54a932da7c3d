// One document's page: the document itself with its passages as an overlay, its state while it is read, its actions.
import { api } from "../api.js";
import { askAddress } from "../document_tasks.js";
import { bootData, bytes, byId, h, icon, query, replace, store } from "../dom.js";
import { gettext } from "../i18n.js";
import { errorToast, menuButton } from "../ui.js";
import { documentFigure } from "./content.js";
import { documentOptions, documentTasks, isWorking, metadataChips, statusBadge } from "./document_row.js";

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
  replace(facts, row.superseded ? h("span", { class: "doc-badge" }, gettext("Earlier version")) : null, statusBadge(row), row.size_bytes ? h("span", { class: "doc-meta" }, bytes(row.size_bytes)) : null, metadataChips(row));
  const changes = row.replaces && row.status === "ready" ? [{ label: gettext("What has changed"), icon: "layers", href: askAddress([row.replaces, row.id], "compare") }] : [];
  replace(byId("tasks"), [...documentTasks(row), ...changes].map((task) => h("a", { class: "button small", href: task.href }, icon(task.icon), task.label)));
  if (isWorking(row)) setTimeout(showDocument, POLL_MS);
  else if (wasWorking) showPart();
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
<<<<<<< HEAD
  const chunk = target.startsWith("chunk-") ? target.slice("chunk-".length) : "";
  const quote = new URLSearchParams(location.search).get("quote") || "";
  /** @type {Api.DocumentContent} */
  let content;
  try {
    content = await loadContent(boot.id, { chunk, quote });
  } catch (error) {
    const { status } = /** @type {import("../api.js").ApiError} */ (error);
    if (status !== 404) throw error;
    replace(view, row?.status === "failed" ? null : h("p", { class: "side-empty" }, row && isWorking(row) ? gettext("It can be read here as soon as it is ready.") : gettext("There is nothing to show of this document.")));
    return;
  }
  const named = content.chunks.find(({ id }) => id === chunk);
  count = content.part_count;
  first = last = content.part;
  const part = partElement(content);
  replace(view, part);
  byId("view-tools").hidden = false;
  drawButtons();
  if (chunk) point(part, named, quote.split("\n").filter(Boolean), content.marks);
}

/** @param {Api.DocumentContent} content */
function partElement(content) {
  if (content.page !== null && content.width && content.height && isPdf()) return pageElement(content.page, content);
  const part = drawPart(content);
  markChunks(part, content.chunks);
  return part;
}

/** @param {number} number @param {Api.DocumentContent} content */
function pageElement(number, content) {
  const picture = h("img", { alt: gettext("Page {page} of {title}", { page: number, title: row?.title || "" }), src: pictureAddress(boot.id, number, 860), loading: "lazy", decoding: "async" });
  const frame = h("div", { class: "page-frame" }, picture);
  frame.style.aspectRatio = `${content.width} / ${content.height}`;
  picture.addEventListener("load", () => {
    frame.style.aspectRatio = "";
  });
  for (const chunk of content.chunks) {
    const odd = chunk.seq % 2 ? " is-odd" : "";
    frame.append(...chunk.boxes.map((sides) => Object.assign(boxMark(sides, `chunk-box${odd}`), { title: chunkLabel(chunk) })));
    if (chunk.boxes.length) {
      const number = h("span", { class: `chunk-number${odd}`, id: `chunk-${chunk.id}` }, chunkLabel(chunk));
      Object.assign(number.style, { left: `${chunk.boxes[0][0] * 100}%`, top: `${chunk.boxes[0][1] * 100}%` });
      frame.append(number);
    }
  }
  return h("figure", { class: "doc-page", "data-part": number }, frame, h("figcaption", {}, gettext("Page {page} of {count}", { page: number, count })));
}

/**
 * Marks what the address names and brings it into sight.
 * @param {HTMLElement} part
 * @param {Api.ContentChunk | undefined} chunk
 * @param {string[]} quotes
 * @param {Api.Sides[]} places where these stand on a page
 */
function point(part, chunk, quotes, places) {
  if (part.matches(".doc-page")) {
    const frame = query(part, ".page-frame");
    const marks = places.map((sides) => boxMark(sides, "page-mark"));
    const boxes = marks.length || !chunk ? marks : chunk.boxes.map((sides) => boxMark(sides, "chunk-box is-target"));
    frame.append(...boxes);
    (boxes[0] ?? part).scrollIntoView({ block: "center" });
    return;
  }
  const mark = markQuotes(part, quotes);
  /** @type {HTMLElement[]} */
  const blocks = [...part.querySelectorAll(/** @type {"div"} */ (".doc-block"))];
  const block = chunk && blocks.find(({ dataset }) => Number(dataset.end) > chunk.start);
  if (!mark) block?.classList.add("is-target");
  (mark || block || part).scrollIntoView({ block: "center" });
}

/** One more part, after those that are shown, or before them. @param {1 | -1} step */
function showNext(step) {
  loading ??= loadNext(step).finally(() => {
    loading = null;
  });
  return loading;
}

/** @param {1 | -1} step */
async function loadNext(step) {
  const number = step > 0 ? last + 1 : first - 1;
  if (!count || number < 1 || number > count) return;
  const part = partElement(await loadContent(boot.id, { part: number }));
  if (step > 0) {
    view.append(part);
    last = number;
  } else {
    const height = view.scrollHeight;
    view.prepend(part);
    query(document, ".page-scroll").scrollTop += view.scrollHeight - height;
    first = number;
  }
  drawButtons();
}

function drawButtons() {
  more.hidden = last >= count;
  before.hidden = first <= 1;
=======
  const quotes = (new URLSearchParams(location.search).get("quote") || "").split("\n").filter(Boolean);
  replace(view, documentFigure({ id: boot.id, title: row.title, isPdf: row.media_type === "application/pdf" }, {
    chunk: target.startsWith("chunk-") ? target.slice("chunk-".length) : "", quotes, hasChunks: true,
  }));
>>>>>>> b24e9a04d7dcb22f37d83fea8ed9b923e2b92028
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

await showDocument();
showPart();
