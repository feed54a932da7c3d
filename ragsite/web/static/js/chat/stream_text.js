// Draws an answer while it is being written, and passages of documents. Only text nodes and a fixed set of elements are
// made, whatever the text says; a finished answer comes as sanitised HTML from the server and takes this one's place.
import { h } from "../dom.js";

/** @typedef {(text: string) => Ui.Child[]} Inline what draws the words of a block */

const INLINE = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(\*[^*\s][^*\n]*\*)|\[(\d{1,3})\]|\[([^\]\n]+)\]\([^)\s]*\)/g;

const BOLD = /\*\*([^*\n]+)\*\*/g;

/** A passage of a document: its headings, lists and tables, and otherwise its own characters. @param {string} text */
export function drawPassage(text) {
  return splitBlocks(text).map((lines) => drawBlock(lines, passageInline));
}

export class StreamText {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.text = "";
    this.drawn = 0;
    /** @type {number | null} */
    this.frame = null;
  }

  /** @param {string} piece */
  push(piece) {
    this.text += piece;
    this.frame ??= requestAnimationFrame(() => this.draw());
  }

  reset() {
    this.text = "";
    this.drawn = 0;
    this.element.replaceChildren();
  }

  draw() {
    this.frame = null;
    const blocks = splitBlocks(this.text);
    // Text only grows at the end: every block but the last one drawn stands.
    const from = Math.max(0, this.drawn - 1);
    while (this.element.childElementCount > from) this.element.lastElementChild?.remove();
    for (const block of blocks.slice(from)) this.element.append(drawBlock(block));
    this.drawn = blocks.length;
  }

  stop() {
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    this.frame = null;
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
function drawBlock(lines, inline = answerInline) {
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

/** @type {Inline} */
function answerInline(text) {
  /** @type {Ui.Child[]} */
  const nodes = [];
  let position = 0;
  for (const match of text.matchAll(INLINE)) {
    nodes.push(text.slice(position, match.index));
    position = match.index + match[0].length;
    const [whole, code, strong, emphasis, marker, label] = match;
    if (code) nodes.push(h("code", {}, code.slice(1, -1)));
    else if (strong) nodes.push(h("strong", {}, strong.slice(2, -2)));
    else if (emphasis) nodes.push(h("em", {}, emphasis.slice(1, -1)));
    else if (marker) nodes.push(h("a", { class: "citation", href: `#source-${marker}`, "data-marker": marker }, marker));
    else nodes.push(label || whole);
  }
  nodes.push(text.slice(position));
  return nodes;
}
