// A document as the server renders it, part by part, with the passages that it was cut into as an overlay.
import { api } from "../api.js";
import { h, icon, iconButton, replace } from "../dom.js";
import { gettext } from "../i18n.js";
import { markQuotes } from "../marks.js";

const PICTURE_WIDTHS = [800, 1200, 2000]; // pixels: few, so that the browser's cache serves the next look
const MOST_QUOTED = 8000; // characters
const MARGIN = 0.02; // beside what is written on a page, as a share of it
const ZOOM_STEP = 1.3;
const MOST_ZOOM = 4;

/**
 * @typedef {object} Options
 * @property {string} chunk it begins with the part that holds this, or the quotation near it; "": with the first one
 * @property {string[]} quotes that are marked
 * @property {(page: number) => Api.Sides[]} [known] where these stand on a page, as far as that is known
 * @property {boolean} [hasChunks] whether the passages that it was cut into are laid over it
 * @property {() => Ui.Child} [instead] what is shown where the document is not to be had
 * @property {boolean} [zooms] whether a page can be made larger, and begins as wide as its text
 */

/**
 * A document as it looks, part by part: a page of a PDF as a picture, anything else as the server renders it.
 * @param {{id: string, title: string, isPdf: boolean}} document
 * @param {Options} options
 * @returns {HTMLElement}
 */
export function documentFigure(document, options) {
  const figure = h("figure", { class: "page-figure", "aria-busy": "true" });
  let asked = 0;
  /** @param {number} [number] */
  async function show(number) {
    const turn = asked += 1;
    const { chunk, quotes } = options;
    const which = Object.entries(number ? { part: String(number) } : { chunk, quote: oneALine(quotes) }).filter(([, value]) => value);
    try {
      /** @type {Api.DocumentContent} */
      const content = await api.get(`/api/documents/${document.id}/content?${new URLSearchParams(which)}`);
      const target = content.chunks.find(({ id }) => id === chunk);
      const isPage = document.isPdf && content.page !== null && content.width !== null && content.height !== null;
      const { frame, mark, tools } = isPage ? pageOf(document, content, options, target) : textOf(content, options, target);
      if (turn !== asked) return; // the reader has gone on
      replace(figure, newerNotice(content), frame, h("figcaption", { class: "page-tools" }, partTurn(content, isPage, show), tools?.buttons));
      tools?.fit();
      if (number) frame.focus();
      else if (which.length && mark) showWithin(frame, mark);
    } catch (error) {
      if (turn === asked) replace(figure, notice(error instanceof Error ? error.message : String(error)), options.instead?.());
    }
    figure.removeAttribute("aria-busy");
  }
  show();
  return figure;
}

/** @param {string[]} quotes */
const oneALine = (quotes) => quotes.map((quote) => quote.replace(/\s+/g, " ")).join("\n").slice(0, MOST_QUOTED);

/** @param {string} text */
const notice = (text) => h("p", { class: "notice" }, icon("warn"), text);

/** @typedef {{frame: HTMLElement, mark: Element | null, tools?: {buttons: Ui.Child, fit: () => void}}} Shown `mark`: where the reader looks first */

/** Into the middle of its frame, where that scrolls, and nothing around it moves. @param {HTMLElement} frame @param {Element} mark */
function showWithin(frame, mark) {
  if (!(frame.scrollHeight > frame.clientHeight + 1)) {
    mark.scrollIntoView?.({ block: "center" });
    return;
  }
  const [at, around] = [mark.getBoundingClientRect(), frame.getBoundingClientRect()];
  frame.scrollTop += at.top - around.top - (frame.clientHeight - at.height) / 2;
}

/**
 * @param {{id: string, title: string}} document @param {Api.DocumentContent} content @param {Options} options
 * @param {Api.ContentChunk | undefined} target @returns {Shown}
 */
function pageOf({ id, title }, content, { known, hasChunks, zooms }, target) {
  const page = Number(content.page);
  const picture = h("img", { alt: gettext("Page {page} of {title}", { page, title }), src: pictureAddress(id, page), decoding: "async" });
  const sheet = h("div", { class: "page-sheet" }, picture);
  const frame = h("div", { class: "page-frame", tabindex: "0", role: "group", "aria-label": gettext("Page {page}", { page }) }, sheet);
  sheet.style.aspectRatio = `${content.width} / ${content.height}`;
  picture.addEventListener("load", () => frame.classList.add("is-drawn")); // marks on a blank page say nothing
  picture.addEventListener("error", () => replace(frame, notice(gettext("The page could not be shown."))));
  const stored = known?.(page) ?? [];
  const boxes = stored.length ? stored : content.marks;
  const marks = boxes.length || !hasChunks ? boxes.map((sides) => boxMark(sides, "page-mark")) : (target?.boxes ?? []).map((sides) => boxMark(sides, "chunk-box is-target"));
  sheet.append(...(hasChunks ? content.chunks.flatMap(chunkBoxes) : []), ...marks);
  return { frame, mark: marks[0] ?? null, tools: zooms ? zoomTools(frame, sheet, content.chunks.flatMap((chunk) => chunk.boxes)) : undefined };
}

/**
 * Buttons that make the page larger and smaller; it begins as wide as what is written on it.
 * @param {HTMLElement} frame @param {HTMLElement} sheet @param {Api.Sides[]} boxes of what is written
 */
function zoomTools(frame, sheet, boxes) {
  let zoom = 1;
  const left = Math.max(0, Math.min(1, ...boxes.map(([side]) => side)) - MARGIN);
  const right = Math.min(1, Math.max(0, ...boxes.map(([, , side]) => side)) + MARGIN);
  const set = (/** @type {number} */ wanted) => {
    const middle = (frame.scrollTop + frame.clientHeight / 2) / zoom;
    zoom = Math.max(1, Math.min(MOST_ZOOM, wanted));
    sheet.style.width = `${zoom * 100}%`;
    frame.scrollTop = middle * zoom - frame.clientHeight / 2;
  };
  const fit = () => {
    set(right > left ? 1 / (right - left) : 1);
    frame.scrollLeft = left * sheet.offsetWidth;
  };
  const button = (/** @type {string} */ name, /** @type {string} */ label, /** @type {number} */ factor) => iconButton(name, label, () => set(zoom * factor), { class: "small" });
  return { buttons: [button("minus", gettext("Smaller"), 1 / ZOOM_STEP), button("plus", gettext("Larger"), ZOOM_STEP)], fit };
}

/** @param {Api.ContentChunk} chunk */
function chunkBoxes(chunk) {
  const { id, seq, boxes } = chunk;
  if (!boxes.length) return [];
  const odd = seq % 2 ? " is-odd" : "";
    const number = h("span", { class: `chunk-number${odd}`, id: `chunk-${id}` }, chunkLabel(chunk));
  Object.assign(number.style, { left: percent(boxes[0][0]), top: percent(boxes[0][1]) });
  return [...boxes.map((sides) => Object.assign(boxMark(sides, `chunk-box${odd}`), { title: chunkLabel(chunk) })), number];
}

/** @param {Api.DocumentContent} content @param {Options} options @param {Api.ContentChunk | undefined} target @returns {Shown} */
function textOf(content, { quotes, hasChunks }, target) {
  const part = h("div", { class: "doc-part prose", "data-part": content.part });
  part.innerHTML = content.html; // sanitised by the server
  if (hasChunks) markChunks(part, content.chunks);
  const found = markQuotes(part, quotes);
  // A row is marked with the names of its columns.
  const mark = (found?.closest("thead") && part.querySelector("tbody mark.evidence")) || found;
  /** @type {HTMLElement[]} */
  const blocks = [...part.querySelectorAll(/** @type {"div"} */ (".doc-block"))];
  const block = (target && blocks.find(({ dataset }) => Number(dataset.end) > target.start)) ?? null;
  if (hasChunks && !mark) block?.classList.add("is-target");
  return { frame: h("div", { class: "doc-frame", tabindex: "0", role: "group", "aria-label": gettext("The document") }, part), mark: mark ?? block };
}

/** That there is a newer version; nothing where there is none. @param {{newer_version?: Api.NewerVersion | null}} content */
function newerNotice({ newer_version: newer }) {
  return newer && h("p", { class: "newer" }, icon("info"), h("span", {}, gettext("This is an earlier version. The newer one:"), " ", h("a", { href: `/documents/${newer.id}/` }, newer.title)));
}

/**
 * The picture of a page, as wide as it is needed.
 * @param {string} id of the document
 * @param {number} number from 1
 */
function pictureAddress(id, number) {
  const needed = Math.min((globalThis.innerWidth || 800) * 0.8, 1000) * (globalThis.devicePixelRatio || 1);
  const width = PICTURE_WIDTHS.find((offered) => offered >= needed) ?? PICTURE_WIDTHS.at(-1);
  return `/api/documents/${id}/pages/${number}/picture?width=${width}`;
}

/** A mark on a page. @param {Api.Sides} sides shares of the page @param {string} kind its class */
function boxMark([left, top, right, bottom], kind) {
  const mark = h("span", { class: kind, "aria-hidden": "true" });
  Object.assign(mark.style, { left: percent(left), top: percent(top), width: percent(right - left), height: percent(bottom - top) });
  return mark;
}

/** @param {number} share */
const percent = (share) => `${(share * 100).toFixed(3)}%`;

/** @param {Api.ContentChunk} chunk */
const chunkLabel = (chunk) => gettext("Passage {number}", { number: chunk.seq + 1 });

/**
 * Shows where each passage of a part begins: a label before the block, and every other passage on another ground.
 * @param {HTMLElement} part
 * @param {Api.ContentChunk[]} chunks
 */
function markChunks(part, chunks) {
  /** @type {HTMLElement[]} */
  const blocks = [...part.querySelectorAll(/** @type {"div"} */ (".doc-block"))];
  for (const block of blocks) {
    const [start, end] = [Number(block.dataset.start), Number(block.dataset.end)];
    const own = chunks.filter((chunk) => chunk.start < end && chunk.end > start);
    const last = own.at(-1);
    block.classList.toggle("is-odd", last !== undefined && last.seq % 2 === 1);
    for (const chunk of own.filter((chunk) => chunk.start >= start)) {
      block.before(h("p", { class: "chunk-label", id: `chunk-${chunk.id}` }, chunkLabel(chunk)));
    }
  }
  // One that begins in a part before is marked there.
  for (const chunk of chunks.filter(({ id }) => !part.querySelector(`[id="chunk-${id}"]`)).reverse()) {
    part.prepend(h("p", { class: "chunk-label", "data-goes-on": "" }, gettext("{passage}, continued", { passage: chunkLabel(chunk) })));
  }
}

/**
 * The way to the parts before and after; nothing where there is one alone.
 * @param {Api.DocumentContent} content @param {boolean} isPage
 * @param {(number: number) => unknown} show
 */
function partTurn({ part, part_count: count, page }, isPage, show) {
  if (count < 2) return null;
  let [before, after, here] = [gettext("Previous part"), gettext("Next part"), gettext("Part {part} of {count}", { part, count })];
  if (isPage) [before, after, here] = [gettext("Previous page"), gettext("Next page"), gettext("Page {page} of {count}", { page: part, count })];
  else if (page !== null) [before, after, here] = [gettext("Previous slide"), gettext("Next slide"), gettext("Slide {page}", { page })];
  return h("span", { class: "page-turn" },
    iconButton("left", before, () => show(part - 1), { class: "small", disabled: part <= 1 }),
    h("span", {}, here),
    iconButton("right", after, () => show(part + 1), { class: "small", disabled: part >= count }));
}
