// The passage behind a citation: at the side on wide screens, a sheet on phones.
import { h, icon, iconButton, plural, replace } from "../dom.js";
import { sourceRating } from "./rating.js";
import { drawPassage } from "./stream_text.js";

const SCORES = {
  final: "Final score", rerank: "Relevance", dense: "Meaning", bm25: "Words", fused: "Merged", boost: "Feedback",
};

export class SourcePanel {
  constructor(element) {
    this.element = element;
    this.opener = null;
    element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        event.stopPropagation();
        this.close();
      }
    });
  }

  get isOpen() {
    return !this.element.hidden;
  }

  close() {
    if (!this.isOpen) return;
    this.element.hidden = true;
    this.mark(null);
    if (this.opener?.isConnected) this.opener.focus({ preventScroll: true });
  }

  /** Shows `sources[index]` of an answer. */
  open(answer, sources, index, opener = document.activeElement) {
    const source = sources[index];
    if (!source) return;
    if (!this.isOpen || !this.element.contains(opener)) this.opener = opener;
    this.answer = answer;
    const go = (step) => () => this.open(answer, sources, index + step, this.opener);
    const title = h("h2", { id: "panel-title", tabindex: "-1" }, source.title);
    replace(this.element,
      h("div", { class: "panel-head" },
        h("span", { class: "source-number", "aria-label": `Source ${source.marker}` }, source.marker), title,
        iconButton("close", "Close the source", () => this.close())),
      h("div", { class: "panel-body" },
        meta(source),
        h("blockquote", { class: "passage prose", tabindex: "0", "aria-label": "The passage", dir: "auto" }, drawPassage(source.text)),
        h("div", { class: "panel-links" }, isWeb(source) ? webLink(source) : [
          h("a", { class: "button small", href: `/documents/${source.document_id}/#chunk-${source.chunk_id}` }, icon("documents"), "Open in document"),
          h("a", { class: "button small", href: `/api/documents/${source.document_id}/file`, target: "_blank", rel: "noopener" }, icon("external"), "Original file")]),
        scores(source.scores || {}, boostOrigin(answer.message, source)),
        answer.id && answer.isDone ? sourceRating(answer.id, source) : null),
      sources.length > 1 ? h("div", { class: "panel-nav" },
        h("button", { type: "button", class: "button quiet small", disabled: index === 0, onclick: go(-1) }, icon("left"), "Previous"),
        h("span", { class: "muted" }, `${index + 1} of ${plural(sources.length, "source")}`),
        h("button", { type: "button", class: "button quiet small", disabled: index === sources.length - 1, onclick: go(1) }, "Next", icon("right"))) : null);
    this.element.hidden = false;
    this.mark(source.marker);
    title.focus({ preventScroll: true });
  }

  /** Marks the citations of the open source in its answer. */
  mark(marker) {
    for (const link of document.querySelectorAll(".citation.is-open, .source-card.is-open")) link.classList.remove("is-open");
    if (marker === null) return;
    for (const link of this.answer.element.querySelectorAll(`[data-marker="${marker}"]`)) link.classList.add("is-open");
  }
}

export function isWeb({ kind, url }) {
  return kind === "web" && /^https?:\/\//.test(url || "");
}

/** Site and date of a web page. */
export function webPlace({ url, published }) {
  return [new URL(url).hostname.replace(/^www\./, ""), published].filter(Boolean).join(" · ");
}

/** The page opens beside ours, and is told neither where the reader came from nor given a handle on our window. */
function webLink({ url }) {
  return h("a", { class: "button small", href: url, target: "_blank", rel: "noopener noreferrer" }, icon("globe"), "Open the web page");
}

/** The path of headings, without the title that stands above it. */
export function placeIn({ title, heading }) {
  return (heading || "").split(" › ").filter((part) => part && part !== title).join(" › ");
}

/** How a passage begins, where no heading says what it is about. */
export function firstLine({ title, text }) {
  const lines = text.split("\n").map((line) => line.replace(/^#+\s*/, "").trim());
  return (lines.find((line) => line && line !== title) || "").slice(0, 80);
}

function meta(source) {
  const parts = isWeb(source) ? [`From the web: ${webPlace(source)}`] : [source.page ? `Page ${source.page}` : null, placeIn(source)].filter(Boolean);
  return parts.length ? h("p", { class: "panel-meta" }, parts.join(" · ")) : null;
}

/** Why ratings moved this passage, in the words of the boost step; "" where they did not. */
function boostOrigin(message, { chunk_id: id }) {
  const boosts = (message?.decision_path || []).filter(({ name }) => name === "boost").map(({ detail }) => detail?.boosts?.[id]);
  return boosts.filter(Boolean).at(-1)?.origin || "";
}

/** Standard scores have no upper end; reciprocal ranks stay below 0.1. */
const mergedShare = (value) => value < 0.1 ? value / 0.1 : value / (value + 3);

function scores(given, origin) {
  const rows = Object.entries(SCORES).filter(([name]) => given[name] !== undefined && given[name] !== null);
  if (!rows.length) return null;
  return h("details", { class: "scores" }, h("summary", {}, icon("chevron"), "Why this passage"),
    h("dl", {}, rows.map(([name, label]) => {
      const value = given[name];
      const share = name === "bm25" ? value / (value + 8) : name === "fused" ? mergedShare(value) : name === "boost" ? value / 2 : value;
      const bar = h("span", { class: "score-bar", "aria-hidden": "true" });
      bar.style.setProperty("--share", `${Math.max(0, Math.min(1, share)) * 100}%`);
      return h("div", {}, h("dt", {}, label), h("dd", {}, bar, h("span", { class: "score-value" }, value.toFixed(value < 1 ? 3 : 2))));
    })),
    origin ? h("p", { class: "muted" }, `Feedback: ${origin}.`) : null);
}
