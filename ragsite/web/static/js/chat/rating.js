// Rating an answer or one of its sources by a thumb; after a thumb down, why, and a comment.
import { api } from "../api.js";
import { h, iconButton, replace } from "../dom.js";
import { gettext } from "../i18n.js";
import { labelOf } from "../labels.js";
import { errorToast, toast } from "../ui.js";

const REASONS = ["wrong_source", "outdated", "incomplete", "wrong_reasoning"];

class Rating {
  /**
   * @param {string} url
   * @param {[good: string, bad: string]} labels of the thumbs
   * @param {Api.Rating | null | undefined} rating the one there is
   * @param {(rating: Api.Rating | null) => unknown} onchange by its reader
   */
  constructor(url, [good, bad], rating, onchange) {
    this.url = url;
    this.rating = rating || null;
    this.onchange = onchange;
    this.up = this.button("up", good);
    this.down = this.button("down", bad);
    this.show();
  }

  /** A pressed one that is pressed again takes the rating back. @param {Api.Thumb} thumb @param {string} label */
  button(thumb, label) {
    return iconButton(thumb, label, () => this.save(this.rating?.thumb === thumb ? null : { thumb, tags: [], comment: this.rating?.comment || "" }), { class: "small" });
  }

  show() {
    this.up.ariaPressed = String(this.rating?.thumb === "up");
    this.down.ariaPressed = String(this.rating?.thumb === "down");
  }

  /** Stores `input`, or takes the rating back when it is null. @param {Api.RatingInput | null} input */
  async save(input, { undo = true } = {}) {
    const before = this.rating;
    try {
      this.rating = input === null ? await api.delete(this.url) : await api.put(this.url, input);
    } catch (error) {
      errorToast(error);
      return;
    } finally {
      this.show();
    }
    this.onchange(this.rating);
    if (!undo) return;
    const back = () => this.save(before && { score: before.score, tags: before.tags, comment: before.comment }, { undo: false });
    toast(input === null ? gettext("Rating taken back.") : gettext("Thank you, your rating is stored."), { action: { label: gettext("Undo"), run: back } });
  }
}

/** @param {Api.Id} messageId @param {Api.Source} source */
export function sourceRating(messageId, source) {
  const labels = /** @type {[string, string]} */ ([gettext("Good source"), gettext("Bad source")]);
  const rating = new Rating(`/api/messages/${messageId}/sources/${source.marker}/rating`, labels, source.rating, (now) => {
    source.rating = now;
  });
  return h("div", { class: "source-rating" }, h("span", {}, gettext("Did this source help?")), rating.up, rating.down);
}

/** The thumbs, and the form that a thumb down opens. @param {Api.Id} messageId @param {Api.Rating | null} given */
export function answerRating(messageId, given) {
  const form = h("div", { class: "rating-form", hidden: true });
  const labels = /** @type {[string, string]} */ ([gettext("Good answer"), gettext("Bad answer")]);
  const rating = new Rating(`/api/messages/${messageId}/rating`, labels, given, (now) => {
    const asks = now?.thumb === "down" && form.hidden;
    if (asks) openForm(form, rating, now);
    else form.hidden = true;
  });
  return { up: rating.up, down: rating.down, form };
}

/** @param {HTMLElement} form @param {Rating} rating @param {Api.Rating} now */
function openForm(form, rating, { tags, comment: written }) {
  const comment = h("textarea", { class: "input", rows: 2, maxlength: 2000, placeholder: gettext("Anything else? (optional)"), "aria-label": gettext("Comment") });
  comment.value = written;
  const close = () => {
    form.hidden = true;
    rating.down.focus();
  };
  /** @param {SubmitEvent & {target: HTMLFormElement}} event */
  const save = async (event) => {
    event.preventDefault();
    await rating.save({ thumb: "down", tags: new FormData(event.target).getAll("tag").map(String), comment: comment.value.trim() });
    if (form.hidden) rating.down.focus();
  };
  replace(form, h("form", { onsubmit: save, "aria-label": gettext("Rating") },
    h("fieldset", { class: "tags" }, h("legend", {}, gettext("Why?")),
      REASONS.map((tag) => h("label", { class: "tag" }, h("input", { type: "checkbox", name: "tag", value: tag, checked: tags.includes(tag) }), h("span", {}, labelOf("tags", tag))))),
    comment,
    h("div", { class: "rating-actions" },
      h("button", { type: "button", class: "button quiet small", onclick: close }, gettext("Close")),
      h("button", { type: "submit", class: "button primary small" }, gettext("Save details")))));
  form.hidden = false;
  form.scrollIntoView({ block: "nearest" });
}
