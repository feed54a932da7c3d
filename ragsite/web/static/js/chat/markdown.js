// Markdown as the server reads it: the same parser in its own language, so that an answer looks while it is written as it
// will in the end, but for its formulas. Only text nodes and a fixed set of elements are made, whatever the text says. Loaded when first needed.
import { append, h } from "../dom.js";
import MarkdownIt from "../vendor/markdown-it/markdown-it.js";
import { cjkEmphasis } from "./emphasis.js";

/** @typedef {{type: string, tag: string, nesting: number, level: number, hidden: boolean, content: string, info: string,
 *   map: [number, number] | null, children: Token[] | null, attrGet: (name: string) => string | null}} Token */
/** @typedef {(text: string) => Ui.Child[]} Words what draws the words of a block */

const MARKER = /(?<![\w\u00c0-\u024f])\[(\d{1,3})\](?!\()/; // not glued to a word, as in row[1]
const BOLD = /\*\*([^*\n]+)\*\*/;
const SAFE_ADDRESS = /^(?:https?|mailto):/i;

/** @typedef {{parse: (text: string, env: object) => Token[]}} Parser */
/** @type {Parser} */
const answers = new MarkdownIt("commonmark", { html: false })
  .enable(["table", "strikethrough"]).disable(["reference", "image"]).use(cjkEmphasis);
/** @type {Parser} */
const passages = new MarkdownIt("zero").enable(["table", "heading", "list", "blockquote", "fence"]);

/** A passage of a document: its headings, lists and tables, and otherwise its own characters. @param {string} text */
export function passageOf(text) {
  return drawTokens(passages.parse(text, {}), (words) => words.split(BOLD).map((part, at) => (at % 2 ? h("strong", {}, part) : part)));
}

/**
 * The blocks of an answer from top to bottom: what makes each look as it does, and its element.
 * @param {string} text
 * @param {(marker: number) => boolean} hasSource whether a number in brackets is a citation
 * @returns {{source: string, draw: () => HTMLElement}[]}
 */
export function blocksOf(text, hasSource) {
  const lines = text.split(/\r\n?|\n/);
  /** @type {string[]} the headings that a block stands under */
  let under = [];
  /** @type {{source: string, tokens: Token[]}[]} */
  const blocks = [];
  for (const token of answers.parse(text, {})) {
    if (token.level === 0 && token.nesting >= 0 && token.type !== "inline") {
      blocks.push({ source: [...under, ...lines.slice(...(token.map ?? []))].join("\n"), tokens: [] });
    }
    blocks.at(-1)?.tokens.push(token);
    if (token.type === "heading_open") under = [...under.filter((tag) => tag < token.tag), token.tag];
    if (token.type.startsWith("heading_")) token.tag = `h${Math.min(under.length + 1, 6)}`;
  }
  const words = (/** @type {string} */ part) => withCitations(part, hasSource);
  return blocks.map(({ source, tokens }) => ({ source, draw: () => /** @type {HTMLElement} */ (drawTokens(tokens, words)[0]) }));
}

/** @param {Token[]} tokens @param {Words} words */
function drawTokens(tokens, words) {
  const top = h("div");
  /** @type {HTMLElement[]} */
  const open = [top];
  for (const token of tokens) {
    const parent = /** @type {HTMLElement} */ (open.at(-1));
    if (token.type === "inline") parent.append(...drawTokens(token.children ?? [], words));
    else if (token.type === "text") append(parent, words(token.content));
    else if (token.type === "softbreak") parent.append("\n");
    else if (token.hidden) continue; // the paragraphs of a tight list
    else if (token.nesting < 0) open.pop();
    else {
      const element = drawElement(token);
      parent.append(element);
      if (token.nesting > 0) open.push(element);
    }
  }
  return /** @type {(HTMLElement | string)[]} */ ([...top.childNodes]);
}

/** @param {Token} token @returns {HTMLElement} */
function drawElement(token) {
  switch (token.type) {
    case "code_inline":
      return h("code", {}, token.content);
    case "fence":
    case "code_block": {
      const language = token.info.trim().split(/\s+/)[0];
      return h("pre", {}, h("code", { class: language ? `language-${language}` : null }, token.content));
    }
    case "link_open": {
      const address = token.attrGet("href") ?? "";
      return h("a", { href: SAFE_ADDRESS.test(address) ? address : null, title: token.attrGet("title"), rel: "noopener noreferrer" });
    }
    default: {
      const alignment = /right|center|left/.exec(token.attrGet("style") ?? "")?.[0];
      return h(/** @type {"p"} */ (token.tag), { start: token.attrGet("start"), class: alignment ? `is-${alignment}` : null });
    }
  }
}

/** @param {string} text @param {(marker: number) => boolean} hasSource */
function withCitations(text, hasSource) {
  return text.split(MARKER).map((part, index, parts) => {
    // No line ends at the space before a citation, as the server writes it.
    if (index % 2 === 0) return index + 1 < parts.length && hasSource(Number(parts[index + 1])) ? part.replace(/ $/, "\u00a0") : part;
    return hasSource(Number(part)) ? h("a", { class: "citation", href: `#source-${part}`, "data-marker": part }, part) : `[${part}]`;
  }).filter((part) => part !== "");
}
