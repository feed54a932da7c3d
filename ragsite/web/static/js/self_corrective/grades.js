// Each document's grade, search by search.
import { capitalized, h, icon, replace } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { drawPassage } from "../chat/stream_text.js";

const percent = (/** @type {number} */ share) => `${Math.round(share * 100)} %`;

export class Grades {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.query = "";
    this.rounds = 0;
    /** @type {HTMLElement | null} of the last round */
    this.verdict = null;
    this.clear();
  }

  clear() {
    this.query = "";
    this.rounds = 0;
    this.verdict = null;
    replace(this.element, h("p", { class: "card-empty" }, gettext("Each document that a search finds is listed here, with its grade and the reason for it.")));
  }

  /** @param {Api.Step} step */
  apply(step) {
    if (step.name === "retrieve" && step.detail.queries) this.query = step.detail.queries.map((/** @type {{text: string}} */ { text }) => text).join(" | ");
    if (step.name === "grade") this.addRound(step);
    if (step.name === "assess" && !step.detail.decision) this.addVerdict(step);
  }

  /** @param {Api.Step} step */
  addRound({ detail, summary }) {
    if (!this.rounds) replace(this.element);
    this.rounds += 1;
    for (const earlier of this.element.querySelectorAll(/** @type {"details"} */ ("details.round"))) earlier.open = false;
    const documents = detail.documents || [];
    this.verdict = h("p", { class: "round-verdict" });
    this.element.append(h("details", { class: "round", open: true },
      h("summary", {}, icon("chevron"), h("span", { class: "round-title" }, gettext("Search {number}", { number: this.rounds })),
        h("span", { class: "round-share" }, documents.length ? gettext("{passed} of {total} passed", { passed: detail.pass_count, total: detail.total_count }) : gettext("nothing found"))),
      h("p", { class: "round-query", dir: "auto" }, icon("search"), this.query),
      documents.length ? h("ul", { class: "grades" }, documents.map(gradeRow)) : h("p", { class: "card-empty" }, summary),
      this.verdict));
  }

  /** @param {Api.Step} step */
  addVerdict({ detail, summary }) {
    if (!this.verdict) return;
    const reached = detail.pass_rate >= detail.pass_threshold && detail.total_count > 0;
    replace(this.verdict, h("span", { class: `chip ${reached ? "is-good" : "is-warn"}` }, gettext("Pass rate {share}", { share: percent(detail.pass_rate) })),
      ` ${gettext("{share} needed.", { share: percent(detail.pass_threshold) })} `, sayVerdict(detail, summary));
  }
}

/** @param {Api.Step["detail"]} detail @param {string} summary */
function sayVerdict({ verdict, stop, passed_in_all: passed }, summary) {
  const why = stop ? gettext("{reason}. ", { reason: capitalized(stop) }) : "";
  if (verdict === "rewrite") return gettext("The query is rewritten.");
  if (verdict === "generate" && !passed) return why + gettext("The answer is written from the nearest documents.");
  if (verdict === "generate") return why + ngettext("The answer is written from {count} document.", "The answer is written from {count} documents.", passed);
  if (verdict === "web_search") return why + gettext("The web is searched.");
  if (verdict === "no_answer") return why + gettext("No document passed.");
  return summary;
}

/** @param {Api.Grade} entry */
function gradeRow(entry) {
  const place = [entry.page ? gettext("p. {page}", { page: entry.page }) : null, entry.heading !== entry.title ? entry.heading.split(" › ").at(-1) : null].filter(Boolean).join(" · ");
  const bar = h("span", { class: "score-bar", "aria-hidden": "true" });
  bar.style.setProperty("--share", percent(entry.confidence).replace(" ", ""));
  return h("li", { class: `grade ${entry.relevant ? "is-passed" : "is-rejected"}` },
    h("details", {},
      h("summary", {},
        h("span", { class: "grade-mark" }, icon(entry.relevant ? "check" : "close"), h("span", { class: "visually-hidden" }, entry.relevant ? gettext("Relevant") : gettext("Not relevant"))),
        h("span", { class: "grade-text" },
          h("span", { class: "grade-title" }, entry.title || entry.file_name),
          place ? h("span", { class: "grade-place" }, place) : null,
          h("span", { class: "grade-reason", dir: "auto" }, entry.reason),
          h("span", { class: "grade-sure" }, bar, gettext("{share} sure", { share: percent(entry.confidence) }),
            entry.by_model ? null : h("span", { class: "chip is-warn" }, gettext("without the model")),
            entry.graded_before ? h("span", { class: "chip" }, gettext("graded earlier")) : null)),
        icon("chevron")),
      h("div", { class: "grade-passage prose passage", dir: "auto" }, drawPassage(entry.text))));
}
