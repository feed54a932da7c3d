// Marks at texts in an element: in a passage, and in a document as it is rendered.
import { h } from "./dom.js";

const LETTER = /[\p{L}\p{N}]/u;
const LEAST_LETTERS = 8; // of a quotation that is looked for: less stands anywhere

/** Letters and digits alone, in small letters: as a text is compared. @param {string} text */
export function letters(text) {
  return [...text].filter((character) => LETTER.test(character)).map((character) => character.toLowerCase()).join("");
}

/**
 * Marks texts within an element, whatever markup and white space lies between their letters. Returns the first mark.
 * @param {Element} root
 * @param {string[]} texts
 */
export function markTexts(root, texts) {
  const nodes = textNodes(root);
  /** @type {{node: number, at: number, end: number}[]} of each code unit of `whole`, where its letter stands */
  const places = [];
  let whole = "";
  nodes.forEach((text, node) => {
    let at = 0;
    for (const character of text.textContent || "") {
      const small = LETTER.test(character) ? character.toLowerCase() : "";
      for (let unit = 0; unit < small.length; unit += 1) places.push({ node, at, end: at + character.length });
      whole += small;
      at += character.length;
    }
  });
  /** @type {Map<number, [number, number][]>} by text node, what of it is marked */
  const marked = new Map();
  for (const text of texts) {
    const wanted = letters(text);
    const found = wanted.length >= LEAST_LETTERS ? whole.indexOf(wanted) : -1;
    if (found < 0) continue;
    for (const { node } of places.slice(found, found + wanted.length)) if (!marked.has(node)) marked.set(node, []);
    const [first, last] = [places[found], places[found + wanted.length - 1]];
    for (let node = first.node; node <= last.node; node += 1) {
      const end = node === last.node ? last.end : (nodes[node].textContent || "").length;
      marked.get(node)?.push([node === first.node ? first.at : 0, end]);
    }
  }
  const marks = [...marked].flatMap(([node, spans]) => wrap(nodes[node], spans));
  return marks[0] ?? null;
}

/** @param {Node} root @returns {Text[]} */
function textNodes(root) {
  return [...root.childNodes].flatMap((node) => ("localName" in node ? textNodes(node) : [/** @type {Text} */ (node)]));
}

/** @param {Text} node @param {[number, number][]} spans */
function wrap(node, spans) {
  const text = node.textContent || "";
  const marks = [];
  let done = 0;
  for (const [start, end] of spans.sort(([left], [right]) => left - right)) {
    const from = Math.max(start, done);
    if (end <= from) continue;
    const mark = h("mark", { class: "evidence" }, text.slice(from, end));
    if (from > done) node.before(document.createTextNode(text.slice(done, from)));
    node.before(mark);
    marks.push(mark);
    done = end;
  }
  if (done < text.length) node.before(document.createTextNode(text.slice(done)));
  node.remove();
  return marks;
}

/**
 * Marks texts within a rendered document: as they are, else sentence by sentence, else as the rows of a table. Returns the
 * first mark.
 * @param {Element} root @param {string[]} texts
 */
export function markQuotes(root, texts) {
  if (!texts.length) return null;
  const rows = () => texts.flatMap((text) => text.split("\n")).map(cells);
  return markTexts(root, texts) ?? markTexts(root, sentences(texts)) ?? markTexts(root, rows());
}

/** The cells of a row that is written as `column: cell; column: cell`. @param {string} line */
export const values = (line) => line.split("; ").map((pair) => pair.split(": ").slice(1).join(": ") || pair);

/** Such a row's cells as they follow each other in the table. @param {string} line */
export const cells = (line) => values(line).join(" ");

/** Each sentence by itself: where markup stands between them, they are not found together. @param {string[]} texts */
const sentences = (texts) => texts.flatMap((text) => text.split(/(?<=[.!?。！？])\s*|\n+/));
