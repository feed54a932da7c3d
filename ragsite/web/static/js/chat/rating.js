// Rating an answer (thumbs, 1 to 5, reasons, a comment) or one of its sources (thumbs).
import { api } from "../api.js";
import { h, iconButton, replace } from "../dom.js";
import { gettext } from "../i18n.js";
import { errorToast, toast } from "../ui.js";

/** @type {Record<string, string>} */
export const TAGS = {
  helpful: gettext("Helpful"), accurate: gettext("Accurate"), wrong_source: gettext("Wrong source"), outdated: gettext("Outdated"), incomplete: gettext("Incomplete"),
  wrong_reasoning: gettext("Wrong reasoning"), style: gettext("Style"), not_helpful: gettext("Not helpful"),
};
const GOOD = ["helpful", "accurate"];

/** @typedef {"answer" | "source"} Rated */
/** @type {Record<Rated, [string, string]>} */
const THUMBS = { answer: [gettext("Good answer"), gettext("Bad answer")], source: [gettext("Good source"), gettext("Bad source")] };

/**
 * Two buttons; `rate` is called with null when a pressed one is pressed again.
 * @param {Rated} rated
 * @param {(thumb: Api.Thumb | null) => unknown} rate
 */
function thumbs(rated, rate) {
  const [good, bad] = THUMBS[rated];
  const up = iconButton("up", good, () => rate(up.ariaPressed === "true" ? null : "up"), { class: "small" });
  const down = iconButton("down", bad, () => rate(down.ariaPressed === "true" ? null : "down"), { class: "small" });
  const show = (/** @type {Api.Rating | null} */ rating) => {
    up.ariaPressed = String(rating?.thumb === "up");
    down.ariaPressed = String(rating?.thumb === "down");
  };
  return { up, down, show };
}

/** @param {Api.Rating} rating @returns {Api.RatingInput} */
const asInput = ({ score, tags, comment }) => ({ score, tags, comment });

class Rating {
  /**
   * @param {string} url
   * @param {Rated} rated
   * @param {Api.Rating | null | undefined} rating the one there is
   * @param {(rating: Api.Rating | null) => unknown} onchange
   */
  constructor(url, rated, rating, onchange = () => {}) {
    this.url = url;
    this.rating = rating || null;
    this.onchange = onchange;
    this.buttons = thumbs(rated, (thumb) => this.thumb(thumb));
    this.show();
  }

  show() {
    this.buttons.show(this.rating);
    this.onchange(this.rating);
  }

  /**
   * Stores `input`, or takes the rating back when it is null. False where that failed.
   * @param {Api.RatingInput | null} input
   */
  async save(input, { undo = true } = {}) {
    const before = this.rating;
    try {
      this.rating = input === null ? await api.delete(this.url) : await api.put(this.url, input);
    } catch (error) {
      errorToast(error);
      return false;
    } finally {
      this.show();
    }
    if (undo) {
      const action = { label: gettext("Undo"), run: () => this.save(before && asInput(before), { undo: false }) };
      toast(input === null ? gettext("Rating taken back.") : gettext("Thank you, your rating is stored."), { action });
    }
    return true;
  }

  /** A thumb takes the place of score and reasons, which were another verdict's; the comment stays. @param {Api.Thumb | null} thumb */
  async thumb(thumb) {
    await this.save(thumb && { thumb, tags: [], comment: this.rating?.comment || "" });
  }
}

/** @param {Api.Id} messageId @param {Api.Source} source */
export function sourceRating(messageId, source) {
  const rating = new Rating(`/api/messages/${messageId}/sources/${source.marker}/rating`, "source", source.rating, (now) => {
    source.rating = now;
  });
  return h("div", { class: "source-rating" }, h("span", {}, gettext("Did this source help?")), rating.buttons.up, rating.buttons.down);
}

/** The thumbs, and the form that a rating opens. @param {Api.Id} messageId @param {Api.Rating | null} given */
export function answerRating(messageId, given) {
  const form = h("div", { class: "rating-form", hidden: true });
  const rating = new Rating(`/api/messages/${messageId}/rating`, "answer", given);
  const thumb = rating.thumb.bind(rating);
  rating.thumb = async (which) => {
    await thumb(which);
    if (rating.rating && which) openForm(form, rating, rating.rating);
    else form.hidden = true;
  };
  return { up: rating.buttons.up, down: rating.buttons.down, form };
}

/** @param {HTMLElement} form @param {Rating} rating @param {Api.Rating} now */
function openForm(form, rating, { score, tags, comment: written }) {
  const order = score >= 3 ? Object.keys(TAGS) : [...Object.keys(TAGS).filter((tag) => !GOOD.includes(tag)), ...GOOD];
  const name = `score-${Math.random().toString(36).slice(2)}`;
  const comment = h("textarea", { class: "input", rows: 2, maxlength: 2000, placeholder: gettext("Anything else? (optional)"), "aria-label": gettext("Comment") });
  comment.value = written;
  const close = () => {
    form.hidden = true;
    rating.buttons[(rating.rating?.score ?? 0) >= 3 ? "up" : "down"].focus(); // the thumb that opened it, or stands for it now
  };
  /** @param {SubmitEvent & {target: HTMLFormElement}} event */
  const save = async (event) => {
    event.preventDefault();
    const data = new FormData(event.target);
    const input = { score: Number(data.get(name)), tags: data.getAll("tag").map(String), comment: comment.value.trim() };
    if (await rating.save(input)) close();
  };
  replace(form, h("form", { onsubmit: save, "aria-label": gettext("Rating") },
    h("fieldset", { class: "scale" }, h("legend", {}, gettext("How good was it?")),
      [1, 2, 3, 4, 5].map((value) => h("label", {}, h("input", { type: "radio", name, value, checked: value === score, "aria-label": gettext("{value} of 5", { value }) }), h("span", {}, value)))),
    h("fieldset", { class: "tags" }, h("legend", {}, gettext("Why?")),
      order.map((tag) => h("label", { class: "tag" }, h("input", { type: "checkbox", name: "tag", value: tag, checked: tags.includes(tag) }), h("span", {}, TAGS[tag])))),
    comment,
    h("div", { class: "rating-actions" },
      h("button", { type: "button", class: "button quiet small", onclick: close }, gettext("Close")),
      h("button", { type: "submit", class: "button primary small" }, gettext("Save details")))));
  form.hidden = false;
  form.scrollIntoView({ block: "nearest" });
}
