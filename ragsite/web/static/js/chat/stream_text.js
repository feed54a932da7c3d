// Draws an answer while it is being written, and passages of documents. Only text nodes and a fixed set of elements are
// made, whatever the text says; a finished answer comes as sanitised HTML from the server and takes this one's place.
import { h } from "../dom.js";
import { dressProse } from "./prose.js";

/** @typedef {(text: string) => Ui.Child[]} Inline what draws the words of a block */

const BOLD = /\*\*([^*\n]+)\*\*/g;

/** A passage of a document: its headings, lists and tables, and otherwise its own characters. @param {string} text */
export function drawPassage(text) {
  return splitBlocks(text).map((lines) => drawBlock(lines, passageInline));
}

const SLOW_FRAME_MS = 12;

/** @type {typeof import("./markdown.js") | null} */
let markdown = null;
/** @type {Promise<void> | null} */
let loading = null;

/** The parser, before the first words come. */
export function loadMarkdown() {
  loading ??= (async () => {
    markdown = await import("./markdown.js");
  })();
  return loading;
}

export class StreamText {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    /** Whether a number in brackets is a citation. @type {(marker: number) => boolean} */
    this.hasSource = () => true;
    /** @type {number | null} */
    this.frame = null;
    this.text = "";
    /** Characters whose blocks are finished, as text only grows at its end. */
    this.settled = 0;
    /** The elements of these. */
    this.kept = 0;
    /** The headings that the rest stands under. @type {string[]} */
    this.outline = [];
    /** Frames to leave out. */
    this.skip = 0;
  }

  /** @param {string} piece */
  push(piece) {
    this.text += piece;
    this.later();
  }

  later() {
    this.frame ??= requestAnimationFrame(() => this.draw());
  }

  reset() {
    Object.assign(this, { text: "", settled: 0, kept: 0, outline: [], skip: 0 });
    this.element.replaceChildren();
  }

  draw() {
    this.frame = null;
    if (!markdown) {
      loadMarkdown().then(() => this.later(), () => this.drawPlain());
      return;
    }
    if (this.skip > 0) {
      this.skip -= 1;
      this.later();
      return;
    }
    const began = performance.now();
    const blocks = markdown.blocksOf(this.text.slice(this.settled), this.hasSource, this.outline);
    while (this.element.childElementCount > this.kept) this.element.lastElementChild?.remove();
    for (const { draw } of blocks) this.element.append(draw());
    dressProse(this.element);
    // The last line is not whole yet: "3" may become "3. Third" and belong to the list above it.
    const line = this.text.lastIndexOf("\n") + 1 - this.settled;
    const open = blocks.findLastIndex(({ start }) => start < line);
    if (open > 0) {
      this.settled += blocks[open].start;
      this.outline = blocks[open].outline;
      this.kept += open;
    }
    // A block that takes long, as a huge table does, leaves the page its time.
    this.skip = Math.floor((performance.now() - began) / SLOW_FRAME_MS);
  }

  /** The parser could not be loaded. */
  drawPlain() {
    this.element.replaceChildren(h("p", { class: "plain" }, this.text));
  }

  stop() {
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    this.frame = null;
    this.skip = 0;
  }
}

/** The lines of each block: what blank lines part, and fenced code whole. @param {string} text */
export function splitBlocks(text) {
  /** @type {string[][]} */
  const blocks = [];
  /** @type {string[]} */
  let lines = [];
  let fenced = false;
  const flush = () => {
    if (lines.length) blocks.push(lines);
    lines = [];
  };
  for (const line of text.split("\n")) {
    const fence = line.trimStart().startsWith("```");
    if (fence && !fenced) flush();
    if (!fenced && !fence && line.trim() === "") flush();
    else lines.push(line);
    if (fence && fenced) flush();
    if (fence) fenced = !fenced;
  }
  flush();
  return blocks;
}

/** @param {string[]} lines @param {Inline} inline @returns {HTMLElement} */
function drawBlock(lines, inline) {
  const first = lines[0].trimStart();
  if (first.startsWith("```")) {
    const closed = lines.length > 1 && lines[lines.length - 1].trimStart().startsWith("```");
    return h("pre", {}, h("code", {}, lines.slice(1, closed ? -1 : undefined).join("\n")));
  }
  const heading = /^(#{1,6})\s+(.*)$/.exec(first);
  if (heading && lines.length === 1) return h(/** @type {"h1"} */ (`h${heading[1].length}`), {}, inline(heading[2]));
  if (lines.every((line) => /^\s*>/.test(line))) {
    return h("blockquote", {}, inline(lines.map((line) => line.replace(/^\s*>\s?/, "")).join("\n")));
  }
  if (isTable(lines)) return drawTable(lines, inline);
  if (/^([-*+]|\d+[.)])\s/.test(first)) return drawList(lines, inline);
  // Headings right above their paragraph: only a blank line would make two blocks of them.
  if (heading) return h("div", {}, drawBlock(lines.slice(0, 1), inline), drawBlock(lines.slice(1), inline));
  return h("p", {}, inline(lines.join("\n")));
}

/** @param {string[]} lines */
function isTable(lines) {
  return lines.length > 1 && lines.every((line) => line.trim().startsWith("|")) && /^[|\s:-]+$/.test(lines[1]);
}

/** @param {string[]} lines @param {Inline} inline */
function drawTable([head, , ...rows], inline) {
  const cells = (/** @type {string} */ line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  return h("div", { class: "table-frame" }, h("table", {},
    h("thead", {}, h("tr", {}, cells(head).map((cell) => h("th", {}, inline(cell))))),
    h("tbody", {}, rows.map((row) => h("tr", {}, cells(row).map((cell) => h("td", {}, inline(cell))))))));
}

/** @param {string[]} lines @param {Inline} inline */
function drawList(lines, inline) {
  /** @type {string[]} */
  const items = [];
  for (const line of lines) {
    const start = /^\s*(?:[-*+]|\d+[.)])\s+(.*)$/.exec(line);
    if (start || items.length === 0) items.push(start ? start[1] : line);
    else items[items.length - 1] += `\n${line.trim()}`;
  }
  const ordered = /^(\d+)[.)]/.exec(lines[0].trimStart());
  return h(ordered ? "ol" : "ul", { start: ordered ? ordered[1] : null }, items.map((item) => h("li", {}, inline(item))));
}

/** @type {Inline} */
function passageInline(text) {
  return text.split(BOLD).map((part, index) => (index % 2 ? h("strong", {}, part) : part));
}
