// Where the evidence of a statement stands: in the passage that it cites, and on the page of a PDF.
import { boxMark, drawPart, loadContent, newerNotice, partTurn, pictureAddress } from "../documents/content.js";
import { h, icon, replace } from "../dom.js";
import { gettext } from "../i18n.js";

const MARKER = /\[(\d{1,3})\]/g;
const LETTER = /[\p{L}\p{N}]/u;
const LEAST_LETTERS = 8; // of a quotation that is looked for: less stands anywhere

/** @typedef {{source: Api.Source, quotes: string[]}} Evidence what bears a statement out: texts of one source */

// ------------------------------------------------------------------------------------------------ which texts
/**
 * The texts of a source that bear the answer out; of one statement alone where `offset` (in the answer's text) is given.
 * @param {Api.Answer | null} message
 * @param {Api.Source} source
 * @param {number | null} offset
 * @returns {string[]}
 */
export function quotesFor(message, source, offset = null) {
  if (!message) return [];
  const statements = (message.grounding || []).filter(({ evidence }) => evidence?.some(({ marker }) => marker === source.marker));
  const chosen = offset === null ? statements : statements.filter(({ start }) => start <= offset).slice(-1);
  const checked = chosen.flatMap(({ evidence, start: from, end: to }) => evidence.filter(({ marker }) => marker === source.marker)
    .flatMap(({ start, end }) => rowsOf(source.text.slice(start, end), message.answer.slice(from, to))));
  return distinct(checked.length ? checked : quoted(message.answer, source, offset));
}

/**
 * Statements that stand in the source word for word, as without a model all do.
 * @param {string} answer @param {Api.Source} source @param {number | null} offset
 */
function quoted(answer, source, offset) {
  const passage = letters(source.text);
  /** @type {string[]} */
  const found = [];
  let begin = 0;
  for (const match of answer.matchAll(MARKER)) {
    const wanted = Number(match[1]) === source.marker && (offset === null || offset === match.index);
    const said = wanted ? answer.slice(begin, match.index).split("\n") : [];
    const holds = (/** @type {string} */ line) => letters(line).length >= LEAST_LETTERS && passage.includes(letters(line));
    found.push(...said.map((line) => (holds(line) ? line : cells(line))).filter(holds));
    begin = match.index + match[0].length;
  }
  return found;
}

/** The cells of a row that is written as `column: cell; column: cell`. @param {string} line */
const values = (line) => line.split("; ").map((pair) => pair.split(": ").slice(1).join(": ") || pair);

/** Such a row's cells as they follow each other in the table. @param {string} line */
const cells = (line) => values(line).join(" ");

/**
 * Rows of a table end no sentence, so all of them are the evidence: of these the ones with most of what was said.
 * @param {string} text @param {string} statement @returns {string[]} the text itself where it is none, or all rows fit alike
 */
function rowsOf(text, statement) {
  const rows = text.split("\n").filter((line) => cells(line) !== line);
  const said = letters(statement);
  const weights = rows.map((row) => values(row).map(letters).filter((cell) => said.includes(cell)).join("").length);
  const most = Math.max(...weights);
  const best = rows.filter((_, at) => weights[at] === most);
  return most > 0 && best.length < rows.length ? best : [text];
}

/**
 * The offset in the answer's text of each place where it cites `marker`, in order.
 * @param {string} answer @param {number} marker
 */
export function citedAt(answer, marker) {
  return [...answer.matchAll(MARKER)].filter((match) => Number(match[1]) === marker).map((match) => match.index);
}

/** @param {string[]} texts */
const distinct = (texts) => [...new Set(texts.map((text) => text.trim()).filter(Boolean))];

// ------------------------------------------------------------------------------------------------ in the passage
/** Letters and digits alone, in small letters: as a text is compared. @param {string} text */
function letters(text) {
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

// ------------------------------------------------------------------------------------------------ on the page
/** Whether the source is a page that can be shown. @param {Api.Source} source */
export function hasPage({ kind, page, file_name: file }) {
  return kind === "document" && Boolean(page) && /\.pdf$/i.test(file);
}

/** Whether the source is a document that the server can show. @param {Api.Source} source */
export const hasDocument = ({ kind, document_id: id }) => kind === "document" && Boolean(id);

/**
 * The source's page as it looks, with the texts marked, and a way to its neighbours.
 * @param {Evidence} evidence
 * @returns {HTMLElement}
 */
export function pageFigure({ source, quotes }) {
  const figure = h("figure", { class: "page-figure", "aria-busy": "true" });
  const known = knownSpans(source, quotes);
  const first = firstPage(source, quotes);
  let asked = 0;
  /** @param {number} number @param {boolean} mayGoOn whether the texts may stand on the next page */
  async function show(number, mayGoOn) {
    const turn = asked += 1;
    const picture = h("img", { alt: gettext("Page {page} of {title}", { page: number, title: source.title }), src: pictureAddress(String(source.document_id), number), decoding: "async" });
    const frame = h("div", { class: "page-frame", tabindex: "0", role: "group", "aria-label": gettext("Page {page}", { page: number }) }, picture);
    picture.addEventListener("load", () => frame.classList.add("is-drawn")); // marks on a blank page say nothing
    picture.addEventListener("error", () => fail(gettext("The page could not be shown.")));
    const boxes = known.filter(({ page }) => page === number).flatMap((span) => span.boxes);
    if (boxes.length) { // what the answer knows of it needs no more questions
      picture.addEventListener("load", () => turn === asked && toMark());
      put(frame, boxes);
    }
    /** @type {Api.DocumentContent} */
    let page;
    try {
      page = await loadContent(String(source.document_id), { part: number, quote: boxes.length ? "" : oneALine(quotes) });
    } catch (error) {
      if (turn === asked) fail(error instanceof Error ? error.message : String(error));
      return;
    }
    if (turn !== asked) return; // the reader has gone on
    if (mayGoOn && quotes.length && !boxes.length && !page.marks.length && number < page.part_count) {
      await show(number + 1, false);
      return;
    }
    frame.style.aspectRatio = `${page.width} / ${page.height}`;
    if (!boxes.length) put(frame, page.marks);
    const words = { before: gettext("Page before"), after: gettext("Page after"), here: gettext("Page {page} of {count}", { page: number, count: page.part_count }) };
    const notice = newerNotice(page);
    if (notice) figure.prepend(notice);
    figure.append(partTurn(number, page.part_count, words, (other) => show(other, false)));
    toMark();
  }
  /** @param {HTMLElement} frame @param {Api.Sides[]} boxes */
  function put(frame, boxes) {
    frame.append(...boxes.map((sides) => boxMark(sides, "page-mark")));
    replace(figure, frame);
    figure.removeAttribute("aria-busy");
  }
  const toMark = () => figure.querySelector(".page-mark")?.scrollIntoView?.({ block: "center" });
  /** @param {string} reason */
  function fail(reason) {
    figure.removeAttribute("aria-busy");
    replace(figure, h("p", { class: "notice" }, icon("warn"), reason));
  }
  show(first, true);
  return figure;
}

/** @type {Map<string, HTMLImageElement>} by address; a picture that nobody holds may be given up */
const ahead = new Map();
const MOST_AHEAD = 12;

/** Has a source's page drawn before it is opened: the browser keeps the picture. @param {Evidence} evidence */
export function pageAhead({ source, quotes }) {
  if (!hasPage(source)) return;
  const address = pictureAddress(String(source.document_id), firstPage(source, quotes));
  if (ahead.has(address)) return;
  const picture = new Image();
  picture.addEventListener("error", () => ahead.delete(address));
  picture.src = address;
  ahead.set(address, picture);
  if (ahead.size > MOST_AHEAD) ahead.delete([...ahead.keys()][0]);
}

/** @param {Api.Source} source @param {string[]} quotes */
const firstPage = (source, quotes) => knownSpans(source, quotes)[0]?.page || source.page || 1;

/** Those of the source's spans that lie in the texts, where it is known where they stand. @param {Api.Source} source @param {string[]} quotes */
export function knownSpans({ spans = [], text }, quotes) {
  const wanted = quotes.map(letters);
  return spans.filter(({ boxes, start, end }) => boxes.length && wanted.some((quote) => quote.includes(letters(text.slice(start, end)))));
}

/** @param {string[]} quotes */
const oneALine = (quotes) => quotes.map((quote) => quote.replace(/\s+/g, " ")).join("\n").slice(0, 8000);

// ------------------------------------------------------------------------------------------------ in the document
/**
 * The source's document as it is rendered, at the texts, and a way to its other parts.
 * @param {Evidence} evidence
 * @param {object} options
 * @param {() => HTMLElement} options.passage what is shown where the document is not to be had
 * @returns {HTMLElement}
 */
export function documentFigure({ source, quotes }, { passage }) {
  const figure = h("figure", { class: "page-figure", "aria-busy": "true" });
  const id = String(source.document_id);
  let asked = 0;
  /** @param {{part?: number, chunk?: string, quote?: string}} which */
  async function show(which) {
    const turn = asked += 1;
    /** @type {Api.DocumentContent} */
    let content;
    try {
      content = await loadContent(id, which);
    } catch (error) {
      if (turn !== asked) return;
      figure.removeAttribute("aria-busy");
      replace(figure, h("p", { class: "notice" }, icon("warn"), error instanceof Error ? error.message : String(error)), passage());
      return;
    }
    if (turn !== asked) return;
    const part = drawPart(content);
    const frame = h("div", { class: "doc-frame", tabindex: "0", role: "group", "aria-label": gettext("The document") }, part);
    const mark = markQuotes(part, quotes);
    const words = { before: gettext("Part before"), after: gettext("Part after"), here: gettext("Part {part} of {count}", { part: content.part, count: content.part_count }) };
    replace(figure, newerNotice(content), frame, content.part_count > 1 ? partTurn(content.part, content.part_count, words, (other) => show({ part: other })) : null);
    figure.removeAttribute("aria-busy");
    // A row is marked with the names of its columns.
    const row = mark?.closest("thead") ? part.querySelector("tbody mark.evidence") : null;
    (row ?? mark ?? blockOf(part, content, source))?.scrollIntoView?.({ block: "center" });
  }
  show({ chunk: source.chunk_id, quote: oneALine(quotes) });
  return figure;
}

/** Each sentence by itself: where markup stands between them, they are not found together. @param {string[]} texts */
const sentences = (texts) => texts.flatMap((text) => text.split(/(?<=[.!?。！？])\s*|\n+/));

/** The block where the passage begins. @param {HTMLElement} part @param {Api.DocumentContent} content @param {Api.Source} source */
function blockOf(part, content, source) {
  const chunk = content.chunks.find(({ id }) => id === source.chunk_id);
  if (!chunk) return null;
  /** @type {HTMLElement[]} */
  const blocks = [...part.querySelectorAll(/** @type {"div"} */ (".doc-block"))];
  return blocks.find((block) => Number(block.dataset.end) > chunk.start) ?? null;
}
