// Where the evidence of a statement stands: which texts of its source, and where these are on the page of a PDF.
import { cells, letters, values } from "../marks.js";

export { markTexts } from "../marks.js";

const MARKER = /(?<![\w\u00c0-\u024f])\[(\d{1,3})\](?!\()/g;

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

/** Those of the source's spans that lie in the texts, where it is known where they stand. @param {Api.Source} source @param {string[]} quotes */
export function knownSpans({ spans = [], text }, quotes) {
  const wanted = quotes.map(letters);
  return spans.filter(({ boxes, start, end }) => boxes.length && wanted.some((quote) => quote.includes(letters(text.slice(start, end)))));
}
