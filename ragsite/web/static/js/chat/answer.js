// One answer on the page: while it is written, and afterwards.
import { append, capitalized, dateOfDay, h, icon, iconButton, replace } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { badgeOf } from "../labels.js";
import { copyText, errorToast } from "../ui.js";
import { ageLine, overdueNote } from "./ages.js";
import { liveLine } from "./live.js";
import { filterChip, filterLabel } from "./filters.js";
import { planTasks } from "./plan.js";
import { citedAt, quotesFor } from "./evidence.js";
import { followUps } from "./follow_ups.js";
import { ownerRow, writerNote } from "./owner_row.js";
import { answerRating, effectOf } from "./rating.js";
import { documentAddress, isWeb, placeIn, sectionIn, webPlace } from "./places.js";
import { dressProse } from "./prose.js";
import { refusalHint } from "./refusal.js";
import { loadMarkdown, StreamText } from "./stream_text.js";
import { versionSwitch } from "./versions.js";

const CARDS_OF_ONE = 2; // document, before its passages are a click away
const CARDS_SHOWN = 4; // of passages that are not cited, before the others are a click away
const INCOMPLETE = ["cut", "stopped", "interrupted"];
/** @type {Record<string, string>} by why it is not complete; an interrupted one by what broke off, the model or the site */
const ENDING_ICONS = { cut: "arrow-down", stopped: "stop", model: "warn", interrupted: "clock" };

/**
 * What its buttons do.
 * @typedef {object} Actions
 * @property {(answer: Answer, shown: import("./evidence.js").Evidence[], index: number, opener: HTMLElement) => unknown} source
 * @property {(text: string) => unknown} option
 * @property {(text: string) => unknown} [followUp]
 * @property {(answer: Answer, request?: Api.Again) => unknown} regenerate
 * @property {(answer: Answer) => unknown} [goOn]
 * @property {(id: Api.Id) => unknown} [showVersion]
 * @property {(answer: Answer) => string} [questionOf]
 * @property {(answer: Answer) => unknown} retry
 * @property {() => boolean} [isRated] whether answers can be rated here
 */

export class Answer {
  /** @param {Actions} on @param {Api.Id | null} replyTo its question */
  constructor(on, replyTo) {
    this.on = on;
    this.replyTo = replyTo;
    /** @type {Api.Id | null} */
    this.id = null;
    this.question = "";
    /** @type {Api.Answer | null} as it is stored */
    this.message = null;
    /** @type {Api.Source[]} */
    this.sources = [];
    /** @type {Api.Step[]} */
    this.steps = [];
    /** @type {HTMLElement | null} */
    this.plan = null;
    this.isDone = false;
    /** @type {{id: Api.Id, text: string} | null} a question that was asked before in other words, and its new ones */
    this.edits = null;
    /** @type {import("./again.js").Rewriting | null} */
    this.rewrites = null;
    this.isNew = false; // its question was asked just now, and may be refused
    this.isUnsent = false; // the site has not told yet that it has the question
    this.doing = "";
    this.status = h("div", { class: "answer-status" });
    this.text = h("div", { class: "prose" });
    this.after = h("div", { class: "answer-after" });
    this.element = h("article", { class: "answer is-live", "aria-label": gettext("Answer"), "aria-busy": "true" }, this.status, this.text, this.after);
    this.stream = new StreamText(this.text);
    this.text.addEventListener("click", (event) => {
      /** @type {HTMLElement | null} */
      const link = /** @type {Element} */ (event.target).closest("[data-marker]");
      if (!link) return;
      event.preventDefault();
      this.openSource(Number(link.dataset.marker), link);
    });
    this.text.addEventListener("keydown", (event) => { // a citation is a button, to whoever hears it
      const link = event.key === " " && /** @type {Element} */ (event.target).closest("a[data-marker]");
      if (!link) return;
      event.preventDefault();
      /** @type {HTMLElement} */ (link).click();
    });
    this.showStep(gettext("Reading the question"));
  }

  get isRated() {
    return this.on.isRated?.() ?? true;
  }

  // ------------------------------------------------------------------------------------------- while it is written
  /** @param {Api.Event} event */
  apply(event) {
    switch (event.type) {
      case "started":
        this.id = event.message_id;
        if (this.isUnsent) this.showStep(gettext("Reading the question"));
        this.isUnsent = false;
        loadMarkdown().catch(() => {}); // drawn as plain text then
        break;
      case "reasoning":
        if (event.step) this.steps.push(event.step);
        this.showStep(liveLine(event));
        break;
      case "tool_call":
        if (event.tool === "plan") this.plan = drawPlan(event.step?.detail?.tasks || []);
        this.showStep(liveLine(event));
        break;
      case "sources":
        this.sources = event.sources;
        this.stream.hasSource = (marker) => this.sources.some((source) => source.marker === marker);
        this.plan = null;
        this.showStep(this.sources.length ? ngettext("Writing from {count} passage", "Writing from {count} passages", this.sources.length) : gettext("Writing"));
        break;
      case "chunk":
        this.stream.push(event.content);
        break;
      case "withdrawn": // they were a model's thoughts
        this.stream.reset();
        break;
      case "clarify":
        this.showClarification(event);
        break;
      case "done":
        this.finish(event.message);
        break;
      case "follow_ups":
        this.showFollowUps(event.follow_ups);
        break;
      case "error":
        this.fail(event.content);
    }
  }

  /** Its question is on the way; without a connection it may stay there. */
  send() {
    this.isUnsent = true;
    this.showStep(gettext("Sending the question"));
  }

  /** @param {string} text "": what is shown still holds */
  showStep(text) {
    if (this.isDone) return;
    this.doing = text || this.doing;
    replace(this.status, h("span", { class: "live-dot", "aria-hidden": "true" }), h("span", { class: "live-step" }, capitalized(this.doing)), this.plan);
  }

  restart() {
    this.stream.reset();
    this.steps = [];
    this.plan = null;
    if (!this.isDone) return;
    this.isDone = false;
    this.element.classList.add("is-live");
    this.element.setAttribute("aria-busy", "true");
    replace(this.after);
    this.showStep(gettext("Continuing the answer"));
  }

  // ------------------------------------------------------------------------------------------- when it is there
  /** That it is there, in a sentence, for who hears the page. */
  spoken() {
    const cited = this.sources.filter((source) => source.cited).length;
    const { status = "failed", decision } = this.message ?? {};
    if (status !== "complete") return gettext("The answer is not complete.");
    if (decision === "CLARIFY") return gettext("The site asks what you mean.");
    if (decision === "NO_ANSWER") return gettext("No answer was found.");
    return cited ? ngettext("Answer ready, {count} source", "Answer ready, {count} sources", cited) : gettext("Answer ready");
  }

  /** @param {Api.Answer} message */
  finish(message) {
    this.end(message.message_id);
    this.stream.stop();
    this.message = message;
    this.sources = message.sources;
    // Rendered and sanitised by the server (chat.messages.rendering): what the model wrote is never put in as it is.
    this.text.innerHTML = message.html;
    dressProse(this.text);
    this.dressCitations();
    this.dressWeakSentences();
    if (isPassagesAlone(message)) this.dressPassages();
    this.showSummary(message);
    replace(this.after);
    this.showNotices(message);
    append(this.after, [ownerRow(message, this.question || this.on.questionOf?.(this) || "", () => this.on.regenerate(this))]);
    if (message.decision === "CLARIFY" && message.clarification) this.showClarification(message.clarification);
    if (message.decision !== "CLARIFY") this.showSources();
    this.showActions(message);
    this.showFollowUps(message.follow_ups ?? []);
  }

  /** Seen while this is the last answer. @param {string[]} questions */
  showFollowUps(questions) {
    this.after.querySelector(".follow-ups")?.remove();
    const { followUp } = this.on;
    if (this.isDone && followUp && questions.length) append(this.after, [followUps(questions, followUp)]);
  }

  /** @param {Api.Id | null} id */
  end(id) {
    this.isDone = true;
    this.id = id || this.id;
    this.element.classList.remove("is-live");
    this.element.removeAttribute("aria-busy");
    if (this.id) this.element.id = `message-${this.id}`;
  }

  /** @param {string} text */
  fail(text) {
    this.end(null);
    replace(this.status);
    replace(this.after, this.problem(text));
  }

  /** One more thing to do about what went wrong. @param {string} label @param {() => unknown} act */
  offer(label, act) {
    const again = this.after.querySelector(".notice.is-error .button");
    const row = h("div", { class: "notice-actions" }, h("button", { type: "button", class: "button small primary", onclick: act }, label));
    again?.before(row);
    if (again) row.append(again);
  }

  problem(text = gettext("The answer could not be written.")) {
    return h("div", { class: "notice is-error", role: "alert" }, icon("warn"), h("div", {}, h("p", {}, text),
      h("button", { type: "button", class: "button small", onclick: () => this.on.retry(this) }, icon("retry"), gettext("Try again"))));
  }

  /** Why it is not complete, each reason with its own look, and what can be done. @param {string} how @param {string} reason */
  ending(how, reason) {
    return h("div", { class: `notice is-ending is-${how}` }, icon(ENDING_ICONS[how]), h("div", {}, h("p", {}, reason),
      h("div", { class: "notice-actions" },
        this.on.goOn ? h("button", { type: "button", class: "button small primary", onclick: () => this.on.goOn?.(this) }, icon("forward"), gettext("Continue")) : null,
        h("button", { type: "button", class: "button small quiet", onclick: () => this.on.regenerate(this) }, icon("retry"), gettext("Write it again")))));
  }

  dressCitations() {
    for (const link of this.text.querySelectorAll(/** @type {"a"} */ ("a.citation[data-marker]"))) {
      const source = this.sources.find(({ marker }) => marker === Number(link.dataset.marker));
      link.textContent = link.dataset.marker || "";
      link.setAttribute("role", "button");
      link.setAttribute("aria-label", source ? gettext("Source {number}: {title}", { number: link.dataset.marker, title: source.title }) : gettext("Source {number}", { number: link.dataset.marker }));
      if (source) link.title = [source.title, pageOf(source)].filter(Boolean).join(gettext(", "));
    }
  }

  /** No model wrote: a line that says so, and passages, each with a way into its document. */
  dressPassages() {
    this.element.classList.add("is-passages");
    const links = /** @type {HTMLElement[]} */ ([...this.text.querySelectorAll("p > a.citation")]);
    for (const link of links) {
      const { shown, index } = this.evidenceOf(Number(link.dataset.marker), link);
      const { source } = shown[index] ?? {};
      if (source && !isWeb(source)) link.after(" ", h("a", { class: "open-document", href: documentAddress(shown[index]) }, gettext("Open in document")));
    }
  }

  /** Sentences that their passages do not bear out: underlined by the server's <mark>, explained below the answer. */
  dressWeakSentences() {
    for (const mark of this.text.querySelectorAll("mark")) mark.title = gettext("The passages do not clearly say this.");
  }

  /** How it was found; its steps are a click away. @param {Api.Answer} message */
  showSummary({ found = [], decision_path: steps, usage, sources }) {
    const lines = h("span", { class: "found" }, found.map((line) => h("span", {}, line)));
    if (!steps.length) {
      replace(this.status, found.length ? lines : null);
      return;
    }
    const body = h("div", { class: "path-body" });
    const details = h("details", { class: "path-toggle" },
      h("summary", {}, found.length ? lines : null, h("span", { class: "found-all" }, gettext("All steps"), icon("chevron"))), body);
    const titles = Object.fromEntries(sources.map(({ chunk_id: id, title }) => [id, title]));
    details.addEventListener("toggle", async () => {
      if (!details.open || body.childElementCount) return;
      try {
        const { decisionPath } = await import("./path.js");
        replace(body, decisionPath(steps, usage, titles));
      } catch (problem) {
        errorToast(/** @type {Error} */ (problem));
      }
    });
    replace(this.status, details);
  }

  /** @param {Api.Answer} message */
  showNotices(message) {
    const { status, status_reason: reason, error, decision, grounding, support, degraded, curated, being_read: left, decision_path: path, source_changed_at: changed } = message;
    append(this.after, [writerNote(message)]);
    if (curated) append(this.after, [h("p", { class: "curated-note" }, icon("check"), h("span", {}, gettext("Checked by {by} on {on}.", { by: curated.by, on: dateOfDay(curated.on) })))]);
    if (status === "failed") append(this.after, [this.problem(error?.content)]);
    else if (INCOMPLETE.includes(status)) append(this.after, [this.ending(status === "interrupted" && degraded.some(({ step }) => step === "generate") ? "model" : status, reason)]);
    /** @type {string[]} */
    const unread = path.flatMap(({ detail }) => detail?.unread ?? []);
    if (unread.length) {
      append(this.after, [h("div", { class: "notice" }, icon("clock"), h("div", {},
        h("p", {}, gettext("Not read in time, so not part of this answer: {names}.", { names: unread.join(gettext(", ")) })),
        h("button", { type: "button", class: "button small", onclick: () => this.on.regenerate(this) }, icon("retry"), gettext("Write it again"))))]);
    }
    this.showPreferred(path);
    if (left) {
      append(this.after, [h("div", { class: "notice" }, icon("clock"), h("div", {},
        h("p", {}, ngettext("{count} document was still being read, so it is not part of this answer.", "{count} documents were still being read, so they are not part of this answer.", left)),
        h("button", { type: "button", class: "button small", onclick: () => this.on.regenerate(this) }, icon("retry"), gettext("Ask again"))))]);
    }
    if (changed) {
      append(this.after, [h("div", { class: "notice" }, icon("clock"), h("div", {},
        h("p", {}, gettext("A document that this answer cites has changed since.")),
        h("button", { type: "button", class: "button small", onclick: () => this.on.regenerate(this) }, icon("retry"), gettext("Ask again"))))]);
    }
    if (support === "none") append(this.after, [h("p", { class: "weak-note" }, icon("warn"), h("span", {}, h("strong", {}, gettext("Not confirmed.")), gettext(" A second look at the passages did not find what was asked in them. Check the sources before you rely on it.")))]);
    append(this.after, [overdueNote(message)]);
    const weak = grounding.filter(({ supported }) => supported === false);
    if (weak.length) {
      const what = this.text.querySelector("mark")
        ? [h("mark", {}, gettext("Underlined")), ngettext(": a sentence that the passages do not clearly support.", ": {count} sentences that the passages do not clearly support.", weak.length)]
        : ngettext("{count} sentence that the passages do not clearly support.", "{count} sentences that the passages do not clearly support.", weak.length);
      append(this.after, [h("p", { class: "weak-note" }, icon("warn"), h("span", {}, what, gettext(" Check the source before you rely on it.")))]);
    }
    if (decision === "NO_ANSWER") this.element.classList.add("is-no-answer");
    if (decision === "NO_ANSWER" && !left) append(this.after, [refusalHint(message.offers, this.question || this.on.questionOf?.(this) || "")]);
  }

  /** What the question named and the search put first; taken off, it is written again without. @param {Api.Step[]} path */
  showPreferred(path) {
    /** @type {Record<import("./filters.js").Field, (string | number)[]>} */
    const preferred = path.filter(({ name }) => name === "route").map(({ detail }) => detail?.preferred).filter(Boolean).at(-1) ?? {};
    const labels = /** @type {import("./filters.js").Field[]} */ (Object.keys(preferred)).flatMap((field) => preferred[field].map((value) => filterLabel(field, value)));
    if (!labels.length) return;
    const chip = filterChip(gettext("Preferred: {filters}", { filters: labels.join(gettext(", ")) }), gettext("Search without this preference"), () => this.on.regenerate(this, { options: { route: false } }));
    append(this.after, [h("ul", { class: "filter-chips preferred-chips" }, chip)]);
  }

  /** @param {Api.Clarification} clarification */
  showClarification({ options = [], question }) {
    if (!this.isDone && question && !this.stream.text) this.stream.push(question);
    if (!options.length) return;
    append(this.after, [h("div", { class: "options", role: "group", "aria-label": gettext("Choose one") },
      options.map((option) => h("button", { type: "button", class: "option", disabled: !this.isDone, onclick: () => this.on.option(option) }, option)))]);
  }

  showSources() {
    if (!this.sources.length) return;
    const cited = this.sources.filter((source) => source.cited);
    const rest = this.sources.filter((source) => !source.cited);
    const cards = (/** @type {Api.Source[]} */ list) => h("ul", { class: "source-cards" }, byDocument(list).map((group) => h("li", {},
      group.length > CARDS_OF_ONE && list.length > CARDS_SHOWN ? this.documentCard(group) : group.map((source) => this.card(source)))));
    if (this.message && isPassagesAlone(this.message)) { // what is cited stands above as it is
      const more = rest.slice(CARDS_SHOWN);
      append(this.after, [rest.length ? h("section", { class: "answer-sources", "aria-label": gettext("Sources") }, cards(rest.slice(0, CARDS_SHOWN)),
        more.length ? h("details", { class: "more-sources" }, h("summary", {}, icon("chevron"),
          ngettext("{count} more passage looked at", "{count} more passages looked at", more.length)), cards(more)) : null) : null]);
      return;
    }
    append(this.after, [h("section", { class: "answer-sources", "aria-label": gettext("Sources") },
      cited.length ? cards(cited) : null,
      rest.length ? h("details", { class: "more-sources" }, h("summary", {}, icon("chevron"), cited.length
        ? ngettext("{count} more passage looked at", "{count} more passages looked at", rest.length)
        : ngettext("{count} passage looked at", "{count} passages looked at", rest.length)), cards(rest)) : null)]);
  }

  /** Many passages of one document, whose cards are a click away. @param {Api.Source[]} group */
  documentCard(group) {
    return h("details", { class: "document-card" },
      h("summary", {}, icon("chevron"), h("span", { class: "source-title", dir: "auto" }, group[0].title),
        h("span", { class: "source-place" }, badgeOf(group[0]), ngettext("{count} passage", "{count} passages", group.length))),
      group.map((source) => this.card(source)));
  }

  /** @param {Api.Source} source */
  card(source) {
    const place = isWeb(source) ? webPlace(source)
      : [pageOf(source), sectionIn(source, source.spans?.[0]?.start) || (citedPage(source) === source.page ? placeIn(source).split(" › ").at(-1) : null)].filter(Boolean).join(" · ");
    const badge = badgeOf(source);
    return h("button", { type: "button", class: "source-card", "data-marker": source.marker, onclick: (event) => this.openSource(source.marker, event.currentTarget) },
      h("span", { class: "source-number", "aria-hidden": "true" }, source.marker),
      h("span", { class: "source-text" }, h("span", { class: "source-title", dir: "auto" }, isWeb(source) ? icon("globe") : null, source.title), badge || place ? h("span", { class: "source-place" }, badge, place) : null, ageLine(source)));
  }

  /** @param {number} marker @param {HTMLElement} opener */
  openSource(marker, opener) {
    const { shown, index } = this.evidenceOf(marker, opener);
    this.on.source(this, shown, index, opener);
  }

  /** What a citation leads to, among what is a step away from it. @param {number} marker @param {HTMLElement} link */
  evidenceOf(marker, link) {
    const links = [...this.text.querySelectorAll("[data-marker]")];
    if (this.message && links.includes(link)) return { shown: this.citations(), index: links.indexOf(link) };
    const cited = this.sources.filter((source) => source.cited);
    const list = cited.some((source) => source.marker === marker) ? cited : this.sources;
    const shown = list.map((source) => ({ source, quotes: quotesFor(this.message, source) }));
    return { shown, index: list.findIndex((source) => source.marker === marker) };
  }

  /** What each citation of the text rests on, in their order. */
  citations() {
    /** @type {Map<number, number>} */
    const seen = new Map();
    return /** @type {HTMLElement[]} */ ([...this.text.querySelectorAll("[data-marker]")]).map(({ dataset }) => {
      const marker = Number(dataset.marker);
      const nth = seen.get(marker) ?? 0;
      seen.set(marker, nth + 1);
      const source = /** @type {Api.Source} */ (this.sources.find((one) => one.marker === marker));
      return { source, quotes: source ? quotesFor(this.message, source, citedAt(this.message?.answer || "", marker)[nth] ?? null) : [] };
    });
  }

  /** Another version, which a model does not count. @param {boolean} isNamed in words, not by its sign alone */
  countButton(isNamed) {
    const label = gettext("Count over all documents");
    const count = () => this.on.regenerate(this, { task: "count" });
    return isNamed ? h("button", { type: "button", class: "button small quiet", onclick: count }, icon("layers"), label) : iconButton("layers", label, count, { class: "small" });
  }

  /** @param {Api.Answer} message */
  showActions({ message_id: id, status, versions = [], rating: given, answer, decision, offers }) {
    const rating = answerRating(id, given);
    /** @type {HTMLElement} */
    const copy = iconButton("copy", gettext("Copy the answer"), () => copyText(withSources(toPaste(answer), this.sources), copy), { class: "small" });
    const rateable = this.isRated && (status === "complete" || status === "stopped" || status === "cut");
    append(this.after, [
      h("div", { class: "answer-actions" }, this.on.showVersion ? versionSwitch(id, versions, this.on.showVersion) : null, copy,
        INCOMPLETE.includes(status) ? null : iconButton("retry", gettext("Write it again"), () => this.on.regenerate(this), { class: "small" }),
        offers.includes("count") ? this.countButton(decision === "NO_ANSWER") : null,
        rateable ? [rating.up, rating.down] : null),
      rateable ? rating.form : null,
      ...(given ? this.sources.filter(effectOf).map((source) => h("p", { class: "rating-effect" }, source.moved === "up"
        ? gettext("Your rating moved “{title}” up.", { title: source.title }) : gettext("Your rating moved “{title}” down.", { title: source.title }))) : []),
    ]);
  }
}

/** No model wrote it: passages as they stand in their documents. @param {Api.Answer} message */
const isPassagesAlone = ({ decision, degraded, model }) => decision === "ANSWER" && !model && degraded.some(({ step }) => step === "generate");

/** Sources of one document beside each other, in the order of the first of each. @param {Api.Source[]} sources */
function byDocument(sources) {
  /** @type {Map<unknown, Api.Source[]>} */
  const groups = new Map();
  for (const source of sources) {
    const key = isWeb(source) ? source.url : source.document_id;
    groups.set(key, [...(groups.get(key) ?? []), source]);
  }
  return [...groups.values()];
}

/** @param {Api.PlanTask[]} tasks */
const drawPlan = (tasks) => (tasks.length > 1 ? planTasks(tasks) : null);

/** @param {Api.Source} source */
const pageOf = (source) => (source.page ? gettext("p. {page}", { page: citedPage(source) ?? source.page }) : null);

/** The page of what is cited first: further on than where the passage, and so its heading, begins. @param {Api.Source} source */
const citedPage = ({ page, spans }) => (page ? spans?.find((span) => span.page)?.page ?? page : page);

/** What leads to this site's documents does so from elsewhere, too. @param {string} answer */
const toPaste = (answer) => answer.replaceAll("](/documents/", `](${location.origin}/documents/`);

/** @param {string} answer @param {Api.Source[]} sources */
export function withSources(answer, sources) {
  const list = sources.filter((source) => source.cited)
    .map((source) => `[${source.marker}] ${[source.title, pageOf(source), placeIn(source), isWeb(source) ? source.url : null].filter(Boolean).join(", ")}`);
  return list.length ? `${answer}\n\n${list.join("\n")}` : answer;
}
