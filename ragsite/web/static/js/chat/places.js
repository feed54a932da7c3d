// Where a source stands: its document, the section, the web page.
/** @typedef {import("./evidence.js").Evidence} Evidence */

/** Its document's page, at the passage, with the texts marked. @param {Evidence} shown */
export function documentAddress({ source, quotes }) {
  const text = quotes.length ? `?${new URLSearchParams({ quote: quotes.join("\n") })}` : "";
  return `/documents/${source.document_id}/${text}#chunk-${source.chunk_id}`;
}

/** @param {Api.Source} source */
export function isWeb({ kind, url }) {
  return kind === "web" && /^https?:\/\//.test(url || "");
}

/** Site and date of a web page. @param {Api.Source} source */
export function webPlace({ url, published }) {
  return [new URL(url).hostname.replace(/^www\./, ""), published].filter(Boolean).join(" · ");
}

/** A title that is long enough to be told from a section's stands at the end of the document's own first line, too. */
const LONG_TITLE = 8;
const HEADING_CHARS = 70;

/** Says it no more than the title? "Northlake University Leave Regulations" of "Leave Regulations". @param {string} line @param {string} title */
const isTitle = (line, title) => line === title || (title.length >= LONG_TITLE && line.endsWith(title));

/** The path of headings, without the title that stands above it. @param {{title: string, heading: string}} place */
export function placeIn({ title, heading }) {
  return heading.split(" › ").filter((part, at) => part && part !== title && !(at === 0 && isTitle(part, title))).join(" › ");
}

/**
 * The section of what is cited first, where the passage begins in an earlier one: by its headings, as Markdown writes them,
 * or, of a page, as they stand: short, alone in their block, without an end of a sentence.
 * @param {Api.Source} source @param {number | undefined} start of what is cited
 */
export function sectionIn({ title, text, page }, start) {
  if (start === undefined) return "";
  const lineEnd = text.indexOf("\n", start);
  let section = "";
  let isCode = false;
  const lines = text.slice(0, lineEnd < 0 ? text.length : lineEnd).split("\n");
  for (const [at, line] of lines.entries()) {
    if (/^(?:```|~~~)/.test(line)) isCode = !isCode;
    else if (page && line && !lines[at - 1] && lines[at + 1] === "" && line.length <= HEADING_CHARS && !/[.!?:;,|。！？：；，]$| \| /.test(line)) section = line;
    else if (!isCode && /^#{1,6} /.test(line)) section = line.replace(/^#+ +/, "").replaceAll(/\*\*|__|`/g, "").trim();
  }
  return isTitle(section, title) ? "" : section;
}
