// Markdown as the server reads it (chat/messages/rendering.py): the same parser in its own language, so that an answer
// looks while it is written as it will in the end. Only text nodes and a fixed set of elements are made, whatever the
// text says. Loaded with the first answer that is written.
import { h } from "../dom.js";
import MarkdownIt from "../vendor/markdown-it/markdown-it.js";
import { cjkEmphasis } from "./emphasis.js";
import { formulas } from "./formulas.js";

/** @typedef {{type: string, tag: string, nesting: number, level: number, hidden: boolean, content: string, info: string,
 *   map: [number, number] | null, children: Token[] | null, attrGet: (name: string) => string | null}} Token */
/** @typedef {(marker: number) => boolean} HasSource */

const MARKER = /\[(\d{1,3})\]/;
const SAFE_ADDRESS = /^(?:https?|mailto):/i;

/** @type {{parse: (text: string, env: object) => Token[]}} */
const parser = new MarkdownIt("commonmark", { html: false })
  .enable(["table", "strikethrough"]).disable(["reference", "image"]).use(formulas).use(cjkEmphasis);

/**
 * The blocks of a text, from top to bottom: where each begins (a character of the text), the headings that it stands
 * under, and its element.
 * @param {string} text
 * @param {HasSource} hasSource whether a number in brackets is a citation
 * @param {string[]} outline the headings that the text stands under
 * @returns {{start: number, outline: string[], draw: () => HTMLElement}[]}
 */
export function blocksOf(text, hasSource, outline = []) {
  const lines = lineStarts(text);
  let under = outline;
  /** @type {{start: number, outline: string[], tokens: Token[]}[]} */
  const blocks = [];
  for (const token of parser.parse(text, {})) {
    if (token.level === 0 && token.nesting >= 0 && token.type !== "inline") {
      blocks.push({ start: lines[token.map?.[0] ?? 0], outline: under, tokens: [] });
    }
    blocks.at(-1)?.tokens.push(token);
    if (token.type === "heading_open") under = [...under.filter((tag) => tag < token.tag), token.tag];
    if (token.type.startsWith("heading_")) token.tag = `h${Math.min(under.length + 1, 6)}`;
  }
  return blocks.map(({ tokens, ...block }) => ({ ...block, draw: () => /** @type {HTMLElement} */ (drawTokens(tokens, hasSource)[0]) }));
}

/** @param {string} text */
function lineStarts(text) {
  const starts = [0];
  for (const { index, 0: end } of text.matchAll(/\r\n?|\n/g)) starts.push(index + end.length);
  return starts;
}

/** @param {Token[]} tokens @param {HasSource} hasSource */
function drawTokens(tokens, hasSource) {
  const top = h("div");
  /** @type {HTMLElement[]} */
  const open = [top];
  for (const token of tokens) {
    const parent = /** @type {HTMLElement} */ (open.at(-1));
    if (token.type === "inline") parent.append(...drawTokens(token.children ?? [], hasSource));
    else if (token.type === "text") parent.append(...withCitations(token.content, hasSource));
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
    case "formula":
      return h("code", { class: "formula" }, token.content);
    case "formula_block":
      return h("div", { class: "formula-block" }, h("code", { class: "formula" }, token.content));
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

/** @param {string} text @param {HasSource} hasSource */
function withCitations(text, hasSource) {
  return text.split(MARKER).map((part, index, parts) => {
    // No line ends at the space before a citation, as the server writes it.
    if (index % 2 === 0) return index + 1 < parts.length && hasSource(Number(parts[index + 1])) ? part.replace(/ $/, "\u00a0") : part;
    return hasSource(Number(part)) ? h("a", { class: "citation", href: `#source-${part}`, "data-marker": part }, part) : `[${part}]`;
  }).filter((part) => part !== "");
}
