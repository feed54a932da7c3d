// The conversation on the page: questions, answers, and where it is scrolled to.
import { h, icon, replace } from "../dom.js";
import { Answer } from "./answer.js";

const NEAR_END_PX = 120;

export class Thread {
  constructor(scroll, on) {
    this.scroll = scroll;
    this.on = on;
    this.list = scroll.querySelector("#thread");
    this.jump = scroll.parentElement.querySelector("[data-jump]");
    this.clear();
    this.jump.addEventListener("click", () => this.toEnd(true));
    scroll.addEventListener("scroll", () => {
      this.following = this.isNearEnd();
      this.jump.hidden = this.following;
    }, { passive: true });
    new ResizeObserver(() => this.grew()).observe(this.list);
  }

  clear() {
    this.answers = [];
    this.questions = new Map(); // message id → element
    this.following = true;
    this.jump.hidden = true;
    replace(this.list);
    this.scroll.classList.remove("is-welcome");
  }

  // ------------------------------------------------------------------------------------------- whole states
  showWelcome(element) {
    this.clear();
    this.scroll.classList.add("is-welcome");
    this.list.append(element);
  }

  showLoading() {
    this.clear();
    this.list.append(h("div", { class: "loading", role: "status" }, h("span", { class: "spinner" }), h("span", { class: "visually-hidden" }, "Loading the conversation")));
  }

  showProblem(text, retry) {
    this.clear();
    this.list.append(h("div", { class: "notice is-error", role: "alert" }, icon("warn"), h("div", {}, h("p", {}, text),
      h("button", { type: "button", class: "button small", onclick: retry }, icon("retry"), "Try again"))));
  }

  show(messages) {
    this.clear();
    let asked = "";
    for (const message of messages) {
      if (message.role === "user") {
        asked = message.text;
        this.addQuestion(message.text, message.message_id);
        continue;
      }
      const answer = this.addAnswer(message.reply_to);
      answer.id = message.message_id;
      answer.question = asked;
      if (message.status !== "streaming") answer.finish(message);
    }
    this.toEnd();
  }

  // ------------------------------------------------------------------------------------------- messages
  addQuestion(text, id = null) {
    if (this.scroll.classList.contains("is-welcome")) this.clear();
    const element = h("article", { class: "question", "aria-label": "Question" }, h("p", { dir: "auto" }, text));
    this.list.append(element);
    if (id) this.questions.set(id, element);
    this.lastQuestion = element;
    return element;
  }

  setQuestion(element, text) {
    element.firstElementChild.textContent = text;
  }

  lastQuestionId(id) {
    if (this.lastQuestion && !this.questions.has(id)) this.questions.set(id, this.lastQuestion);
  }

  knows(questionId) {
    return this.questions.has(questionId);
  }

  addAnswer(replyTo = null) {
    const answer = new Answer(this.on);
    answer.replyTo = replyTo;
    this.answers.push(answer);
    this.list.append(answer.element);
    return answer;
  }

  /** A new answer in an old one's place. */
  replaceAnswer(old) {
    const answer = new Answer(this.on);
    answer.replyTo = old.replyTo;
    this.answers[this.answers.indexOf(old)] = answer;
    old.element.replaceWith(answer.element);
    return answer;
  }

  /** Takes away an answer that never was, and its question. */
  removeFrom(answer) {
    const question = answer.element.previousElementSibling;
    if (question?.classList.contains("question")) question.remove();
    answer.element.remove();
    this.answers = this.answers.filter((one) => one !== answer);
  }

  find(id) {
    return this.answers.find((answer) => answer.id === id);
  }

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

  /** `ended`: the last answer has just been finished, with all that stands under it. */
  grew(ended = false) {
    if (this.following && (ended || this.live())) this.toEnd();
  }

  toEnd(smooth = false) {
    this.following = true;
    this.jump.hidden = true;
    this.scroll.scrollTo({ top: this.scroll.scrollHeight, behavior: smooth ? "smooth" : "auto" });
  }
}
