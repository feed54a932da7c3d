// A document as the server renders it, part by part, with the passages that it was cut into as an overlay.
import { api } from "../api.js";
import { h, icon, iconButton } from "../dom.js";
import { gettext } from "../i18n.js";

const PICTURE_WIDTHS = [800, 1200, 2000]; // pixels: few, so that the browser's cache serves the next look

/**
 * One part of a document; without a part's number the one that holds the chunk, or the quotation near it.
 * @param {string} id
 * @param {{part?: number, chunk?: string, quote?: string}} which
 * @returns {Promise<Api.DocumentContent>}
 */
export function loadContent(id, which) {
  const given = Object.entries(which).filter(([, value]) => value).map(([name, value]) => [name, String(value)]);
  return api.get(`/api/documents/${id}/content?${new URLSearchParams(given)}`);
}

/** That there is a newer version; nothing where there is none. @param {{newer_version?: Api.NewerVersion | null}} content */
export function newerNotice({ newer_version: newer }) {
  return newer && h("p", { class: "newer" }, icon("info"), h("span", {}, gettext("This is an earlier version. The newer one:"), " ", h("a", { href: `/documents/${newer.id}/` }, newer.title)));
}

/** The part as elements: the server's HTML is sanitised. @param {Api.DocumentContent} content */
export function drawPart(content) {
  const part = h("div", { class: "doc-part prose", "data-part": content.part });
  part.innerHTML = content.html;
  return part;
}

/**
 * The picture of a page, as wide as it is needed.
 * @param {string} id of the document
 * @param {number} number from 1
 */
export function pictureAddress(id, number, most = 720) {
  const needed = Math.min(globalThis.innerWidth || 800, most) * (globalThis.devicePixelRatio || 1);
  const width = PICTURE_WIDTHS.find((offered) => offered >= needed) ?? PICTURE_WIDTHS.at(-1);
  return `/api/documents/${id}/pages/${number}/picture?width=${width}`;
}

/** A mark on a page. @param {Api.Sides} sides shares of the page @param {string} kind its class */
export function boxMark([left, top, right, bottom], kind) {
  const mark = h("span", { class: kind, "aria-hidden": "true" });
  Object.assign(mark.style, { left: percent(left), top: percent(top), width: percent(right - left), height: percent(bottom - top) });
  return mark;
}

/** @param {number} share */
const percent = (share) => `${(share * 100).toFixed(3)}%`;

/** @param {Api.ContentChunk} chunk */
export const chunkLabel = (chunk) => gettext("Passage {number}", { number: chunk.seq + 1 });

/**
 * Shows where each passage of a part begins: a label before the block, and every other passage on another ground.
 * @param {HTMLElement} part as `drawPart` made it
 * @param {Api.ContentChunk[]} chunks
 */
export function markChunks(part, chunks) {
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
 * The way to the parts before and after.
 * @param {number} number @param {number} count
 * @param {{before: string, after: string, here: string}} words
 * @param {(number: number) => unknown} show
 */
export function partTurn(number, count, { before, after, here }, show) {
  return h("figcaption", { class: "page-turn" },
    iconButton("left", before, () => show(number - 1), { class: "small", disabled: number <= 1 }),
    h("span", {}, here),
    iconButton("right", after, () => show(number + 1), { class: "small", disabled: number >= count }));
}
