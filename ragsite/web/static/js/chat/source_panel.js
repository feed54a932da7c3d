// The passage behind a citation: at the side on wide screens, a sheet on phones.
// Loaded with the first one that is opened (open_panel.js).
import { documentFigure } from "../documents/content.js";
import { h, icon, iconButton, replace, store } from "../dom.js";
import { gettext } from "../i18n.js";
import { badgeOf } from "../labels.js";
import { ageLine } from "./ages.js";
import { hasDocument, hasPage, knownSpans, markTexts } from "./evidence.js";
import { documentAddress, isWeb, placeIn, sectionIn, webPlace } from "./places.js";
import { sourceRating } from "./rating.js";
import { scoreRows } from "./scores.js";
import { drawPassage, loadMarkdown } from "./stream_text.js";

/** @typedef {import("./answer.js").Answer} Answer */
/** @typedef {import("./evidence.js").Evidence} Evidence */
/** What is shown: the document as it looks, or the passage alone. The reader's last choice holds. */
let view = "document";
const [LEAST_PX, STEP_PX, WIDEST] = [340, 40, 0.7]; // of the panel; the widest: a share of the window
const SHOWN_INLINE = /\.(pdf|txt|text|log|srt|rst|md|markdown|mdx|csv|tsv)$/i; // by the browser, as the server sends it

export class SourcePanel {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    /** @type {HTMLElement | null} */
    this.opener = null;
    /** @type {Answer | null} */
    this.answer = null;
    /** @type {(step: number) => void} to the evidence before or after; nothing where there is none */
    this.go = () => {};
    const kept = store.get("panel");
    if (kept) document.documentElement.style.setProperty("--panel", `${kept}px`);
    element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        event.stopPropagation();
        this.close();
      }
      const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
      if (!step || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || isField(event.target)) return;
      event.preventDefault();
      this.go(step);
    });
  }

  /** Over the whole window, and back. */
  fullButton() {
    const isFull = this.element.classList.contains("is-full");
    return iconButton(isFull ? "shrink" : "expand", isFull ? gettext("Beside the conversation") : gettext("Full page"), () => {
      this.element.classList.toggle("is-full");
      this.go(0);
    }, { class: "panel-full" });
  }

  get isOpen() {
    return !this.element.hidden;
  }

  close() {
    if (!this.isOpen) return;
    this.element.hidden = true;
    this.element.classList.remove("is-full");
    this.mark(null);
    if (this.opener?.isConnected) this.opener.focus({ preventScroll: true });
  }

  /**
   * Shows `shown[index]`, evidence of an answer; the others are a step away.
   * @param {Answer} answer
   * @param {Evidence[]} shown
   * @param {number} index
   * @param {HTMLElement | null} opener where the focus goes back to
   */
  open(answer, shown, index, opener) {
    if (!shown[index]?.source) return;
    const { source, quotes } = shown[index];
    if (!this.isOpen || !this.element.contains(opener)) this.opener = opener;
    this.answer = answer;
    this.go = (step) => this.open(answer, shown, index + step, this.opener);
    const go = (/** @type {number} */ step) => () => this.go(step);
    const title = h("h2", { id: "panel-title", tabindex: "-1" }, source.title);
    replace(this.element, edge(this.element),
      h("div", { class: "panel-head" },
        h("span", { class: "source-number", "aria-label": gettext("Source {number}", { number: source.marker }) }, source.marker), title,
        this.fullButton(), iconButton("close", gettext("Close the source"), () => this.close())),
      h("div", { class: "panel-body" },
        meta({ source, quotes }),
        this.evidence({ source, quotes }),
        h("div", { class: "panel-links" }, isWeb(source) ? webLink(source) : documentLinks({ source, quotes })),
        scores(source.scores, boostOrigin(answer.message?.decision_path || [], source.chunk_id)),
        answer.id && answer.isDone && answer.isRated ? sourceRating(answer.id, source) : null),
      shown.length > 1 ? h("div", { class: "panel-nav" },
        h("button", { type: "button", class: "button quiet small", disabled: index === 0, onclick: go(-1) }, icon("left"), gettext("Previous")),
        h("span", { class: "muted" }, gettext("{number} of {count}", { number: index + 1, count: shown.length })),
        h("button", { type: "button", class: "button quiet small", disabled: index === shown.length - 1, onclick: go(1) }, gettext("Next"), icon("right"))) : null);
    this.element.hidden = false;
    this.mark(source.marker);
    title.focus({ preventScroll: true });
  }

  /**
   * The document, a PDF's page, at the texts that bear the statement out, marked; the passage alone is a click away.
   * @param {Evidence} shown
   */
  evidence({ source, quotes }) {
    const passage = () => {
      const quote = h("blockquote", { class: "passage prose", tabindex: "0", "aria-label": gettext("The passage"), dir: "auto" });
      loadMarkdown().catch(() => {}).then(() => { // without the parser it is plain text
        replace(quote, drawPassage(source.text));
        markTexts(quote, quotes)?.scrollIntoView?.({ block: "center" });
      });
      return quote;
    };
    if (!hasDocument(source)) return passage();
    const place = h("div", { class: "evidence-view" });
    const choice = (/** @type {string} */ name, /** @type {string} */ label) => h("button", { type: "button", class: "segment", "aria-pressed": String(view === name), onclick: () => choose(name) }, label);
    const choose = (/** @type {string} */ name) => {
      view = name;
      draw();
    };
    const draw = () => replace(place,
      h("div", { class: "evidence-tabs" },
        h("div", { class: "segments", role: "group", "aria-label": gettext("Show the source as") }, choice("document", hasPage(source) ? gettext("Page") : gettext("Document")), choice("text", gettext("Passage")))),
      view === "text" ? passage() : documentFigure({ id: String(source.document_id), title: source.title, isPdf: hasPage(source) }, {
        chunk: source.chunk_id, quotes, instead: passage, zooms: true,
        known: (page) => knownSpans(source, quotes).filter((span) => span.page === page).flatMap(({ boxes }) => boxes),
      }));
    draw();
    return place;
  }

  /** Marks the citations of the open source in its answer. @param {number | null} marker */
  mark(marker) {
    for (const link of document.querySelectorAll(".citation.is-open, .source-card.is-open")) link.classList.remove("is-open");
    if (marker === null || !this.answer) return;
    for (const link of this.answer.element.querySelectorAll(`[data-marker="${marker}"]`)) link.classList.add("is-open");
  }
}

/** Its edge, which is dragged, or moved by arrow keys, to make it wider; this browser keeps the width. @param {HTMLElement} panel */
function edge(panel) {
  const tell = () => grip.setAttribute("aria-valuenow", String(Math.round((100 * panel.offsetWidth) / innerWidth)));  // of the window
  const width = (/** @type {number} */ wanted) => {
    const now = Math.round(Math.max(LEAST_PX, Math.min(innerWidth * WIDEST, wanted)));
    document.documentElement.style.setProperty("--panel", `${now}px`);
    store.set("panel", String(now));
    tell();
  };
  const grip = h("div", {
    class: "panel-edge", role: "separator", tabindex: "0", "aria-orientation": "vertical", "aria-label": gettext("Width of the source"),
    onpointerdown: (/** @type {PointerEvent} */ event) => grip.setPointerCapture(event.pointerId),
    onpointermove: (/** @type {PointerEvent} */ event) => grip.hasPointerCapture(event.pointerId) && width(innerWidth - event.clientX),
    onkeydown: (event) => {
      const step = event.key === "ArrowLeft" ? 1 : event.key === "ArrowRight" ? -1 : 0;
      if (!step) return;
      event.stopPropagation();
      width(panel.offsetWidth + step * STEP_PX);
    },
  });
  tell();
  return grip;
}

/** Where arrow keys have a meaning of their own. @param {EventTarget | null} target */
function isField(target) {
  return target instanceof HTMLElement && /^(input|textarea|select)$/.test(target.localName);
}

/** @param {Evidence} shown */
function documentLinks({ source, quotes }) {
  const file = `/api/documents/${source.document_id}/file`;
  return [
    h("a", { class: "button small", href: documentAddress({ source, quotes }) }, icon("documents"), gettext("Open in document")),
    SHOWN_INLINE.test(source.file_name)
      ? h("a", { class: "button small", href: `${file}?inline=true${hasPage(source) ? `#page=${pageOf(source, quotes)}` : ""}`, target: "_blank", rel: "noopener" }, icon("external"), gettext("Original file"))
      : h("a", { class: "button small", href: file, download: "" }, icon("download"), gettext("Download")),
  ];
}

/** The page of these texts, else of what is cited first: a passage may go over several. @param {Api.Source} source @param {string[]} quotes */
const pageOf = (source, quotes) => (knownSpans(source, quotes)[0] ?? source.spans?.find((span) => span.page))?.page ?? source.page;

/** The page opens beside ours, and is told neither where the reader came from nor given a handle on our window. @param {Api.Source} source */
function webLink({ url }) {
  return h("a", { class: "button small", href: url, target: "_blank", rel: "noopener noreferrer" }, icon("globe"), gettext("Open the web page"));
}

/** Where the evidence stands. @param {Evidence} shown */
function meta({ source, quotes }) {
  const page = source.page ? pageOf(source, quotes) : null;
  const quoted = quotes.length ? source.text.indexOf(quotes[0]) : -1;
  const place = sectionIn(source, quoted < 0 ? source.spans?.[0]?.start : quoted) || placeIn(source);
  const parts = isWeb(source) ? [gettext("From the web: {place}", { place: webPlace(source) })] : [page ? gettext("Page {page}", { page }) : null, place].filter(Boolean);
  const badge = badgeOf(source);
  return [badge || parts.length ? h("p", { class: "panel-meta" }, badge, parts.join(" · ")) : null, agePlace(source)];
}

/** @param {Api.Source} source */
function agePlace(source) {
  const age = ageLine(source);
  const year = source.policy_year ? gettext("Year: {value}", { value: source.policy_year }) : null;
  return age && h("p", { class: "panel-meta" }, age, year ? ` · ${year}` : null);
}

/** Why ratings moved this passage, in the words of the boost step; "" where they did not. @param {Api.Step[]} steps @param {string} id of the chunk */
function boostOrigin(steps, id) {
  const boosts = steps.filter(({ name }) => name === "boost").map(({ detail }) => detail?.boosts?.[id]);
  return boosts.filter(Boolean).at(-1)?.origin || "";
}

/** @param {Api.Scores} given @param {string} origin of the boost */
function scores(given, origin) {
  const rows = scoreRows(given);
  if (!rows.length) return null;
  return h("details", { class: "scores" }, h("summary", {}, icon("chevron"), gettext("Why this passage")), h("dl", {}, rows),
    origin ? h("p", { class: "muted" }, gettext("Feedback: {origin}.", { origin })) : null);
}
