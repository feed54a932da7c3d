// One answer on the page: while it is written, and afterwards.
import { append, h, icon, iconButton, plural, replace, seconds } from "../dom.js";
import { menuButton, toast } from "../ui.js";
import { decisionPath, stepLabel } from "./path.js";
import { planTasks } from "./plan.js";
import { answerRating } from "./rating.js";
import { firstLine, isWeb, placeIn, webPlace } from "./source_panel.js";
import { StreamText } from "./stream_text.js";

const ENDINGS = {
  stopped: "You stopped this answer.",
  interrupted: "The site was interrupted while writing this answer.",
};

export class Answer {
  /** `on`: {source(answer, sources, index), option(text), regenerate(answer), retry(answer)}. */
  constructor(on) {
    this.on = on;
    this.id = null;
    this.sources = [];
    this.steps = [];
    this.isDone = false;
    this.status = h("div", { class: "answer-status" });
    this.text = h("div", { class: "prose" });
    this.after = h("div", { class: "answer-after" });
    this.element = h("article", { class: "answer is-live", "aria-label": "Answer", "aria-busy": "true" }, this.status, this.text, this.after);
    this.stream = new StreamText(this.text);
    this.text.addEventListener("click", (event) => {
      const link = event.target.closest("[data-marker]");
      if (!link) return;
      event.preventDefault();
      this.openSource(Number(link.dataset.marker), link);
    });
    this.showStep("Reading the question");
  }

  // ------------------------------------------------------------------------------------------- while it is written
  apply(event) {
    const handlers = {
      started: () => { this.id = event.message_id; },
      reasoning: () => {
        if (event.step) this.steps.push(event.step);
        this.showStep(event.content || stepLabel(event.step?.name || ""));
      },
      tool_call: () => (event.tool === "plan" ? this.showPlan(event) : this.showStep(event.content || event.tool)),
      sources: () => {
        this.sources = event.sources;
        this.plan = null;
        this.showStep(this.sources.length ? `Writing from ${plural(this.sources.length, "passage")}` : "Writing");
      },
      chunk: () => this.stream.push(event.content),
      clarify: () => this.showClarification(event),
      done: () => this.finish(event.message),
      error: () => this.fail(event),
    };
    handlers[event.type]?.();
  }

  showStep(text) {
    if (this.isDone) return;
    const label = text.charAt(0).toUpperCase() + text.slice(1);
    replace(this.status, h("span", { class: "live-dot", "aria-hidden": "true" }), h("span", { class: "live-step" }, label), this.plan);
  }

  /** The tasks of a plan while they run; the picture stays beside the steps of its tasks until the answer is written. */
  showPlan({ content, step }) {
    const tasks = step?.detail?.tasks || [];
    this.plan = tasks.length > 1 ? planTasks(tasks) : null;
    this.showStep(content || stepLabel("plan"));
  }

  restart() {
    this.stream.reset();
    this.steps = [];
    this.plan = null;
  }

  // ------------------------------------------------------------------------------------------- when it is there
  finish(message) {
    this.end(message.message_id);
    Object.assign(this, { message, sources: message.sources || [] });
    // Rendered and sanitised by the server (chat.messages.rendering); what the model wrote is never put into the page as it is.
    this.text.innerHTML = message.html || "";
    this.dressCitations();
    this.dressWeakSentences();
    this.showSummary();
    replace(this.after);
    this.showNotices();
    if (message.decision === "CLARIFY" && message.clarification) this.showClarification(message.clarification);
    this.showSources();
    this.showActions();
  }

  end(id) {
    this.stream.stop();
    this.isDone = true;
    this.id = id || this.id;
    this.element.classList.remove("is-live");
    this.element.removeAttribute("aria-busy");
    if (this.id) this.element.id = `message-${this.id}`;
  }

  fail({ code, content, message }) {
    if (message) {
      this.finish(message);
      return;
    }
    this.end(null);
    replace(this.status);
    if (this.stream.text) this.stream.draw();
    replace(this.after, this.problem(content || "The answer could not be written.", code));
  }

  problem(text) {
    return h("div", { class: "notice is-error", role: "alert" }, icon("warn"), h("div", {}, h("p", {}, text),
      h("button", { type: "button", class: "button small", onclick: () => this.on.retry(this) }, icon("retry"), "Try again")));
  }

  dressCitations() {
    for (const link of this.text.querySelectorAll("a.citation[data-marker]")) {
      const source = this.sources.find(({ marker }) => marker === Number(link.dataset.marker));
      link.textContent = link.dataset.marker;
      link.setAttribute("role", "button");
      link.setAttribute("aria-label", `Source ${link.dataset.marker}${source ? `: ${source.title}` : ""}`);
      if (source) link.title = [source.title, source.page ? `p. ${source.page}` : null].filter(Boolean).join(", ");
    }
    for (const link of this.text.querySelectorAll("a:not(.citation)")) link.target = "_blank";
    for (const table of this.text.querySelectorAll("table")) {
      const frame = h("div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": "Table" });
      table.replaceWith(frame);
      frame.append(table);
    }
  }

  /** Sentences that their passages do not bear out: underlined by the server's <mark>, explained below the answer. */
  dressWeakSentences() {
    for (const mark of this.text.querySelectorAll("mark")) mark.title = "The passages do not clearly say this.";
  }

  showSummary() {
    const { decision_path: steps = [], usage = {}, decision, degraded = [] } = this.message;
    if (!steps.length) {
      replace(this.status);
      return;
    }
    const body = h("div", { class: "path-body" });
    const cited = this.sources.filter((source) => source.cited).length;
    const said = {
      ANSWER: cited ? `Answered from ${plural(cited, "source")}` : "Answered", CLARIFY: "Asked back", NO_ANSWER: "No answer found",
    }[decision] || "How this was answered";
    const total = usage.total_ms ? ` · ${seconds(usage.total_ms)}` : "";
    const details = h("details", { class: "path-toggle" },
      h("summary", {}, icon("path"), h("span", {}, `${said}${total}`), degraded.length ? h("span", { class: "chip is-warn" }, plural(degraded.length, "fallback")) : null, icon("chevron")), body);
    details.addEventListener("toggle", () => {
      if (details.open && !body.childElementCount) body.append(decisionPath(steps, usage));
    });
    replace(this.status, details);
  }

  showNotices() {
    const { status, error, decision } = this.message;
    if (status === "failed") append(this.after, [this.problem(error?.content || "The answer could not be written.")]);
    else if (ENDINGS[status]) {
      append(this.after, [h("div", { class: "notice" }, icon(status === "stopped" ? "stop" : "warn"), h("div", {}, h("p", {}, ENDINGS[status]),
        h("button", { type: "button", class: "button small", onclick: () => this.on.regenerate(this) }, icon("retry"), "Write it again")))]);
    }
    const weak = (this.message.grounding || []).filter(({ supported }) => supported === false);
    if (weak.length) {
      append(this.after, [h("p", { class: "weak-note" }, icon("warn"), h("span", {},
        this.text.querySelector("mark") ? [h("mark", {}, "Underlined"), `: ${weak.length === 1 ? "a sentence" : `${weak.length} sentences`}`] : plural(weak.length, "sentence"),
        " that the passages do not clearly bear out. Check the source before you rely on it."))]);
    }
    if (decision === "NO_ANSWER") {
      this.element.classList.add("is-no-answer");
      append(this.after, [h("div", { class: "notice" }, icon("search"), h("div", {},
        h("p", {}, "Try other words, choose other collections, or ", h("a", { href: "/documents/" }, "add a document"), ".")))]);
    }
  }

  showClarification({ options = [], question }) {
    if (!this.isDone && question && !this.stream.text) this.stream.push(question);
    if (!options.length) return;
    append(this.after, [h("div", { class: "options", role: "group", "aria-label": "Choose one" },
      options.map((option) => h("button", { type: "button", class: "option", disabled: !this.isDone, onclick: () => this.on.option(option) }, option)))]);
  }

  showSources() {
    if (!this.sources.length || this.message.decision === "CLARIFY") return;
    const cited = this.sources.filter((source) => source.cited);
    const rest = this.sources.filter((source) => !source.cited);
    const cards = (list) => h("ul", { class: "source-cards" }, list.map((source) => h("li", {}, this.card(source))));
    append(this.after, [h("section", { class: "answer-sources", "aria-label": "Sources" },
      cited.length ? cards(cited) : null,
      rest.length ? h("details", { class: "more-sources" }, h("summary", {}, icon("chevron"), `${plural(rest.length, cited.length ? "more passage" : "passage")} looked at`), cards(rest)) : null)]);
  }

  card(source) {
    const place = isWeb(source) ? webPlace(source)
      : [source.page ? `p. ${source.page}` : null, placeIn(source).split(" › ").at(-1) || firstLine(source)].filter(Boolean).join(" · ");
    return h("button", { type: "button", class: "source-card", "data-marker": source.marker, onclick: (event) => this.openSource(source.marker, event.currentTarget) },
      h("span", { class: "source-number", "aria-hidden": "true" }, source.marker),
      h("span", { class: "source-text" }, h("span", { class: "source-title" }, isWeb(source) ? icon("globe") : null, source.title), place ? h("span", { class: "source-place" }, place) : null));
  }

  openSource(marker, opener) {
    const cited = this.sources.filter((source) => source.cited);
    const list = cited.some((source) => source.marker === marker) ? cited : this.sources;
    this.on.source(this, list, list.findIndex((source) => source.marker === marker), opener);
  }

  showActions() {
    const rating = answerRating(this.id, this.message.rating);
    const copy = iconButton("copy", "Copy the answer", () => this.copy(copy), { class: "small" });
    const more = iconButton("more", "More", null, { class: "small" });
    menuButton(more, [
      { label: "Copy with sources", icon: "copy", run: () => this.copy(copy, true) },
      { label: "Copy the address", icon: "external", run: () => this.write(`${location.origin}/chat/${this.message.session_id}/#message-${this.id}`, copy) },
    ], { align: "start" });
    const rateable = this.message.status === "complete" || this.message.status === "stopped";
    append(this.after, [
      h("div", { class: "answer-actions" }, copy,
        iconButton("retry", "Write it again", () => this.on.regenerate(this), { class: "small" }),
        rateable ? [rating.up, rating.down] : null, more,
        this.message.model ? h("span", { class: "answer-model" }, this.message.model) : null),
      rateable ? rating.form : null,
    ]);
  }

  copy(button, withSources = false) {
    const list = this.sources.filter((source) => source.cited)
      .map((source) => `[${source.marker}] ${[source.title, source.page ? `p. ${source.page}` : null, source.heading, isWeb(source) ? source.url : null].filter(Boolean).join(", ")}`);
    return this.write(withSources && list.length ? `${this.message.answer}\n\n${list.join("\n")}` : this.message.answer, button);
  }

  async write(text, button) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      toast("The browser did not allow copying.");
      return;
    }
    replace(button, icon("check"));
    toast("Copied.", { ms: 1800 });
    setTimeout(() => replace(button, icon("copy")), 1800);
  }
}
