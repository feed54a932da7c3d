// A box for a question's words: grows with them, keeps a draft, sends on Enter, and knows when not to.
import { icon, query, replace, store } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";

const TALLEST_PX = 220;

export class QuestionBox {
  /**
   * @param {HTMLElement} form
   * @param {object} options
   * @param {number} options.limit characters of a question
   * @param {(text: string) => boolean} options.onSend false: not now, the text stays
   * @param {() => unknown} options.onStop
   */
  constructor(form, { limit, onSend, onStop }) {
    this.form = form;
    this.limit = limit;
    this.onSend = onSend;
    this.onStop = onStop;
    this.input = query(form, "textarea", HTMLTextAreaElement);
    this.button = query(form, "[data-send]", HTMLButtonElement);
    this.counter = query(form, "[data-counter]");
    this.draftKey = ""; // until a conversation is shown
    this.busy = false;
    this.listen();
  }

  listen() {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.busy) this.onStop();
      else this.send();
    });
    this.input.addEventListener("input", () => this.changed());
    this.input.addEventListener("keydown", (event) => {
      // keyCode 229: Safari reports the Enter that ends a composition without isComposing.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      if (!this.busy) this.send();
    });
  }

  /** Shows the draft of this session ("new" for none yet). @param {string} key */
  useDraft(key) {
    const typed = this.draftKey ? "" : this.input.value; // before the script was there
    this.draftKey = `draft.${key}`;
    this.input.value = typed || store.get(this.draftKey) || "";
    this.changed();
  }

  changed() {
    store.set(this.draftKey, this.input.value);
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight, TALLEST_PX)}px`;
    this.showButton();
  }

  /** @param {boolean} busy */
  setBusy(busy) {
    this.busy = busy;
    this.form.classList.toggle("is-busy", busy);
    this.showButton();
  }

  canSend() {
    const text = this.input.value.trim();
    return text !== "" && text.length <= this.limit;
  }

  showButton() {
    const left = this.limit - this.input.value.length;
    this.counter.hidden = left > 500;
    this.counter.textContent = left >= 0 ? ngettext("{count} character left", "{count} characters left", left) : ngettext("{count} character too long: attach the text as a file", "{count} characters too long: attach the text as a file", -left);
    this.counter.classList.toggle("is-over", left < 0);
    this.button.disabled = !this.busy && !this.canSend();
    this.button.setAttribute("aria-label", this.busy ? gettext("Stop the answer") : gettext("Send the question"));
    if (this.button.dataset.shows !== String(this.busy)) replace(this.button, icon(this.busy ? "stop" : "send"));
    this.button.dataset.shows = String(this.busy);
  }

  /** A question that was not taken, before what was typed meanwhile. @param {string} text */
  giveBack(text) {
    this.input.value = [text, this.input.value].filter(Boolean).join("\n");
    this.changed();
    this.input.focus({ preventScroll: true });
  }

  send() {
    if (!this.canSend() || this.onSend(this.input.value.trim()) === false) return;
    this.input.value = "";
    this.changed();
  }
}
