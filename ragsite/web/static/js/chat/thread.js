// The conversation on the page: questions, answers, and where it is scrolled to.
import { h, icon, iconButton, query, replace } from "../dom.js";
import { gettext } from "../i18n.js";
import { errorToast } from "../ui.js";
import { Answer } from "./answer.js";
import { versionSwitch } from "./versions.js";

const NEAR_END_PX = 120;
const NEAR_TOP_PX = 24;
const ROOM_ABOVE_PX = 12;
const KEEPS_PLACE = globalThis.CSS?.supports?.("overflow-anchor", "auto") ?? false; // what is looked at, when something grows above it

/** @typedef {import("./answer.js").Actions & {edit?: (id: Api.Id, text: string) => unknown}} Actions */

export class Thread {
  /** @param {HTMLElement} scroll @param {Actions} on */
  constructor(scroll, on) {
    this.scroll = scroll;
    this.on = on;
    this.list = query(scroll, "#thread");
    this.jump = query(document, "[data-jump]");
    /** @type {Answer[]} */
    this.answers = [];
    /** @type {Map<Api.Id, HTMLElement>} */
    this.questions = new Map();
    /** @type {HTMLElement | null} */
    this.lastQuestion = null;
    this.following = true;
    /** @type {HTMLElement | null} the question that stays on the screen while its answer is written */
    this.held = null;
    this.clear();
    this.jump.addEventListener("click", () => this.toEnd(true));
    scroll.addEventListener("scroll", () => {
      if (this.held && this.scroll.scrollTop > this.topOf(this.held) + NEAR_TOP_PX) this.held = null; // somebody reads on
      this.following = this.isNearEnd();
      this.jump.hidden = this.following;
    }, { passive: true });
    new ResizeObserver(() => this.grew()).observe(this.list);
  }

  clear() {
    this.answers = [];
    this.questions.clear();
    this.lastQuestion = null;
    this.held = null;
    this.following = true;
    this.jump.hidden = true;
    replace(this.list);
    this.scroll.classList.remove("is-welcome");
    this.scroll.setAttribute("tabindex", "0"); // what scrolls is reached by the keyboard
  }

  // ------------------------------------------------------------------------------------------- whole states
  /** What stands where nothing has been asked yet. @param {(question: string) => unknown} ask @param {boolean} named documents are, to be asked about */
  showWelcome(ask, named = false) {
    this.clear();
    this.scroll.classList.add("is-welcome");
    this.scroll.removeAttribute("tabindex");
    this.list.append(query(document, "#welcome", HTMLTemplateElement).content.cloneNode(true));
    if (named) this.list.querySelector(".suggestions")?.remove();
    for (const button of this.list.querySelectorAll(".suggestion")) button.addEventListener("click", () => ask(button.textContent?.trim() || ""));
  }

  showLoading() {
    this.clear();
    this.list.append(h("div", { class: "loading", role: "status" }, h("span", { class: "spinner" }), h("span", { class: "visually-hidden" }, gettext("Loading the conversation"))));
  }

  /** @param {string} text @param {() => unknown} retry */
  showProblem(text, retry) {
    this.clear();
    this.list.append(h("div", { class: "notice is-error", role: "alert" }, icon("warn"), h("div", {}, h("p", {}, text),
      h("button", { type: "button", class: "button small", onclick: retry }, icon("retry"), gettext("Try again")))));
  }

  /** @param {Api.Message[]} messages @param {Api.Id} [at] the one to stay at; else the end */
  show(messages, at) {
    this.clear();
    for (const message of messages) {
      if (message.role === "user") this.addQuestion(message.text, message.message_id, message.versions);
      else this.append(this.draw(message));
    }
    const stay = at && document.getElementById(`message-${at}`);
    if (!stay) {
      this.toEnd();
      return;
    }
    this.stayAt(stay, "nearest");
    /** @type {HTMLElement | null} */
    const next = stay.querySelector(".versions button:not(:disabled)");
    next?.focus({ preventScroll: true });
  }

  /** @param {HTMLElement} message what is looked at from now on @param {ScrollLogicalPosition} block */
  stayAt(message, block = "start") {
    this.following = false;
    message.scrollIntoView({ block });
  }

  /** A stored answer. @param {Api.Answer} message */
  draw(message) {
    const answer = new Answer(this.on, message.reply_to);
    answer.id = message.message_id;
    if (message.status !== "streaming") answer.finish(message);
    return answer;
  }

  /** What came before stands above what is shown as soon as somebody looks for it. @param {import("./history.js").History} messages */
  offerEarlier(messages) {
    if (!messages.hasMore) return;
    const load = async () => {
      if (more.disabled) return;
      more.disabled = true;
      try {
        const rows = await messages.before();
        if (!more.isConnected) return;
        this.putBefore(more, rows);
        more.remove();
        this.offerEarlier(messages);
      } catch (error) {
        more.disabled = false;
        errorToast(error);
      }
    };
    /** @type {HTMLButtonElement} */
    const more = h("button", { type: "button", class: "button quiet more-rows", onclick: load }, gettext("Show more"));
    this.list.prepend(more);
    new IntersectionObserver(([entry]) => entry.isIntersecting && load(), { root: this.scroll, rootMargin: "400px" }).observe(more);
  }

  /** @param {HTMLElement} more stands above all messages @param {Api.Message[]} rows oldest first */
  putBefore(more, rows) {
    const { scrollHeight, scrollTop } = this.scroll;
    /** @type {Answer[]} */
    const answers = [];
    const elements = rows.map((message) => {
      if (message.role === "user") {
        const element = this.question(message.text);
        this.nameQuestion(element, message.message_id, message.versions);
        return element;
      }
      const answer = this.draw(message);
      answers.push(answer);
      return answer.element;
    });
    this.answers.unshift(...answers);
    more.after(...elements);
    if (!KEEPS_PLACE || !scrollTop) this.scroll.scrollTop = scrollTop + this.scroll.scrollHeight - scrollHeight;
  }

  // ------------------------------------------------------------------------------------------- messages
  /** The element of its words. @param {string} text @param {Api.Id | null} id @param {Api.Id[]} versions */
  addQuestion(text, id = null, versions = []) {
    if (this.scroll.classList.contains("is-welcome")) this.clear();
    const element = this.question(text);
    this.list.append(element);
    this.lastQuestion = element;
    if (id) this.nameQuestion(element, id, versions);
    return query(element, "p");
  }

  /** @param {string} text */
  question(text) {
    return h("article", { class: "question", "aria-label": gettext("Question") }, h("p", { dir: "auto" }, text));
  }

  /** What an answer was asked. @param {Answer} answer */
  questionOf(answer) {
    const element = (answer.replyTo && this.questions.get(answer.replyTo)) || answer.element.previousElementSibling;
    return element?.classList.contains("question") ? query(element, "p").textContent || "" : "";
  }

  /** The number that the last question has been given. @param {Api.Id} id */
  lastQuestionId(id) {
    if (!this.lastQuestion || this.questions.has(id)) return;
    const before = [...this.questions].find(([, element]) => element === this.lastQuestion)?.[0];
    const versions = before ? this.lastQuestion.dataset.versions?.split(" ") ?? [before] : [];
    if (before) this.questions.delete(before);
    this.nameQuestion(this.lastQuestion, id, [...versions, id]);
  }

  /** Gives it its address and its tools. @param {HTMLElement} element @param {Api.Id} id @param {Api.Id[]} versions */
  nameQuestion(element, id, versions) {
    this.questions.set(id, element);
    element.id = `message-${id}`;
    element.dataset.versions = versions.join(" ");
    element.querySelector(".question-tools")?.remove();
    const { edit, showVersion } = this.on;
    if (!edit && !showVersion) return;
    element.append(h("div", { class: "question-tools" },
      edit ? iconButton("edit", gettext("Edit the question"), () => this.openEditor(element, id), { class: "small" }) : null,
      showVersion ? versionSwitch(id, versions, showVersion) : null));
  }

  /** The question as a form, in its place. @param {HTMLElement} element @param {Api.Id} id */
  openEditor(element, id) {
    if (this.live() || element.querySelector("form")) return;
    const words = query(element, "p");
    const input = h("textarea", { class: "input", dir: "auto", rows: 3, "aria-label": gettext("Edit the question") });
    input.value = words.textContent || "";
    const close = () => {
      form.remove();
      element.classList.remove("is-edited");
      query(element, ".question-tools button").focus();
    };
    const send = () => {
      const text = input.value.trim();
      if (!text || this.live()) return;
      close();
      this.on.edit?.(id, text);
    };
    const form = h("form", {
      class: "question-editor",
      onsubmit: (event) => { event.preventDefault(); send(); },
      onkeydown: (event) => {
        if (event.key === "Escape") close();
        else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send();
        else return;
        event.preventDefault();
        event.stopPropagation();
      },
    }, input, h("div", { class: "notice-actions" },
      h("button", { type: "submit", class: "button small primary" }, gettext("Ask again")),
      h("button", { type: "button", class: "button small quiet", onclick: close }, gettext("Cancel"))),
    h("p", { class: "field-help" }, gettext("The earlier question and answer are kept as another version.")));
    element.classList.add("is-edited");
    element.append(form);
    input.focus();
    input.setSelectionRange(input.value.length, input.value.length);
  }

  /** Other words in a question's place: what followed it goes. @param {Api.Id} id @param {string} text */
  reword(id, text) {
    const element = this.questions.get(id);
    if (!element) return;
    while (element.nextElementSibling) element.nextElementSibling.remove();
    this.answers = this.answers.filter((answer) => answer.element.isConnected);
    for (const [other, question] of this.questions) if (!question.isConnected) this.questions.delete(other);
    replace(query(element, "p"), text);
    this.lastQuestion = element;
  }

  /** @param {Api.Id} questionId */
  knows(questionId) {
    return this.questions.has(questionId);
  }

  /** @param {Api.Id | null} replyTo its question */
  addAnswer(replyTo = null) {
    return this.append(new Answer(this.on, replyTo));
  }

  /** @param {Answer} answer */
  append(answer) {
    this.answers.push(answer);
    this.list.append(answer.element);
    return answer;
  }

  /** A new answer in an old one's place. @param {Answer} old */
  replaceAnswer(old) {
    const answer = new Answer(this.on, old.replyTo);
    this.answers[this.answers.indexOf(old)] = answer;
    old.element.replaceWith(answer.element);
    return answer;
  }

  /** Takes away an answer that never was, and its question. @param {Answer} answer */
  removeFrom(answer) {
    const question = answer.element.previousElementSibling;
    if (question?.classList.contains("question")) question.remove();
    answer.element.remove();
    this.answers = this.answers.filter((other) => other !== answer);
  }

  /** @param {Api.Id} id */
  find(id) {
    return this.answers.find((answer) => answer.id === id);
  }

  /** @param {Api.Id} questionId */
  answerTo(questionId) {
    return this.answers.find((answer) => answer.replyTo === questionId || answer.element.previousElementSibling === this.questions.get(questionId));
  }

  live() {
    return this.answers.find((answer) => !answer.isDone);
  }

  // ------------------------------------------------------------------------------------------- scrolling
  isNearEnd() {
    return this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight < NEAR_END_PX;
  }

  /** `ended`: the last answer has just been finished, with all that stands under it. @param {boolean} [ended] */
  grew(ended = false) {
    if (!this.following || !(ended || this.live())) return;
    if (this.held) this.scroll.scrollTo({ top: Math.min(this.topOf(this.held), this.scroll.scrollHeight) });
    else this.toEnd();
  }

  /** The answer that is being written is followed until its question stands at the top. */
  holdQuestion() {
    this.toEnd();
    this.held = this.lastQuestion;
    this.grew();
  }

  /** Where its top is in what scrolls, with a little room above. @param {HTMLElement} element */
  topOf(element) {
    return element.getBoundingClientRect().top - this.scroll.getBoundingClientRect().top + this.scroll.scrollTop - ROOM_ABOVE_PX;
  }

  toEnd(smooth = false) {
    this.held = null;
    this.following = true;
    this.jump.hidden = true;
    this.scroll.scrollTo({ top: this.scroll.scrollHeight, behavior: smooth ? "smooth" : "auto" });
  }
}
