<<<<<<< HEAD
// Where the evidence of a statement stands: in the passage that it cites, and on the page of a PDF.
import { boxMark, drawPart, loadContent, newerNotice, partTurn, pictureAddress } from "../documents/content.js";
import { h, icon, replace } from "../dom.js";
import { gettext } from "../i18n.js";
=======
// Where the evidence of a statement stands: which texts of its source, and where these are on the page of a PDF.
import { cells, letters, values } from "../marks.js";

export { markTexts } from "../marks.js";
>>>>>>> b24e9a04d7dcb22f37d83fea8ed9b923e2b92028

const MARKER = /\[(\d{1,3})\]/g;

/** @typedef {{source: Api.Source, quotes: string[]}} Evidence what bears a statement out: texts of one source */

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
  // An answer that quotes has no such statements: the server found what it quotes.
  const spans = (source.spans ?? []).map(({ start, end }) => source.text.slice(start, end));
  return distinct(checked.length ? checked : spans);
}

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

// ------------------------------------------------------------------------------------------------ in the document
/** Whether the source is a page that can be shown. @param {Api.Source} source */
export function hasPage({ kind, page, file_name: file }) {
  return kind === "document" && Boolean(page) && /\.pdf$/i.test(file);
}

/** Whether the source is a document that the server can show. @param {Api.Source} source */
export const hasDocument = ({ kind, document_id: id }) => kind === "document" && Boolean(id);

<<<<<<< HEAD
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

=======
>>>>>>> b24e9a04d7dcb22f37d83fea8ed9b923e2b92028
/** Those of the source's spans that lie in the texts, where it is known where they stand. @param {Api.Source} source @param {string[]} quotes */
export function knownSpans({ spans = [], text }, quotes) {
  const wanted = quotes.map(letters);
  return spans.filter(({ boxes, start, end }) => boxes.length && wanted.some((quote) => quote.includes(letters(text.slice(start, end)))));
}
