// Rating an answer (thumbs, 1 to 5, reasons, a comment) or one of its sources (thumbs).
import { api } from "../api.js";
import { h, iconButton, replace } from "../dom.js";
import { errorToast, toast } from "../ui.js";

const TAGS = {
  helpful: "Helpful", accurate: "Accurate", wrong_source: "Wrong source", outdated: "Outdated", incomplete: "Incomplete",
  wrong_reasoning: "Wrong reasoning", style: "Style", not_helpful: "Not helpful",
};
const GOOD = ["helpful", "accurate"];

/** Two buttons; `rate(thumb)` is called with "up", "down" or null when a pressed one is pressed again. */
function thumbs(noun, rate) {
  const up = iconButton("up", `Good ${noun}`, () => rate(up.ariaPressed === "true" ? null : "up"), { class: "small" });
  const down = iconButton("down", `Bad ${noun}`, () => rate(down.ariaPressed === "true" ? null : "down"), { class: "small" });
  const show = (rating) => {
    up.ariaPressed = String(rating?.thumb === "up");
    down.ariaPressed = String(rating?.thumb === "down");
  };
  show(null);
  return { up, down, show };
}

const asInput = ({ score, tags, comment }) => ({ score, tags: tags || [], comment: comment || "" });

class Rating {
  constructor(url, noun, rating, onchange = () => {}) {
    Object.assign(this, { url, rating, onchange });
    this.buttons = thumbs(noun, (thumb) => this.thumb(thumb));
    this.show();
  }

  show() {
    this.buttons.show(this.rating);
    this.onchange(this.rating);
  }

  /** Stores `input`, or takes the rating back when it is null. False where that failed. */
  async save(input, { undo = true } = {}) {
    const before = this.rating;
    try {
      this.rating = input === null ? (await api.delete(this.url), null) : await api.put(this.url, input);
    } catch (error) {
      errorToast(error);
      return false;
    } finally {
      this.show();
    }
    if (undo) {
      const action = { label: "Undo", run: () => this.save(before && asInput(before), { undo: false }) };
      toast(input === null ? "Rating taken back." : "Thank you, your rating is stored.", { action });
    }
    return true;
  }

  async thumb(thumb) {
    await this.save(thumb === null ? null : { ...(this.rating ? asInput({ ...this.rating, tags: [] }) : {}), score: undefined, thumb });
  }
}

export function sourceRating(messageId, source) {
  const rating = new Rating(`/api/messages/${messageId}/sources/${source.marker}/rating`, "source", source.rating, (now) => {
    source.rating = now;
  });
  return h("div", { class: "source-rating" }, h("span", {}, "Did this source help?"), rating.buttons.up, rating.buttons.down);
}

/** {up, down, form}: the thumbs, and the form that a rating opens. */
export function answerRating(messageId, given) {
  const form = h("div", { class: "rating-form", hidden: true });
  const rating = new Rating(`/api/messages/${messageId}/rating`, "answer", given);
  const thumb = rating.thumb.bind(rating);
  rating.thumb = async (which) => {
    await thumb(which);
    if (rating.rating && which) openForm(form, rating);
    else form.hidden = true;
  };
  return { up: rating.buttons.up, down: rating.buttons.down, form };
}

function openForm(form, rating) {
  const { score, tags } = rating.rating;
  const order = score >= 3 ? Object.keys(TAGS) : [...Object.keys(TAGS).filter((tag) => !GOOD.includes(tag)), ...GOOD];
  const name = `score-${Math.random().toString(36).slice(2)}`;
  const comment = h("textarea", { class: "input", rows: 2, maxlength: 2000, placeholder: "Anything else? (optional)", "aria-label": "Comment" });
  comment.value = rating.rating.comment || "";
  const save = async (event) => {
    event.preventDefault();
    const data = new FormData(event.target);
    const input = { score: Number(data.get(name)), tags: data.getAll("tag"), comment: comment.value.trim() };
    if (await rating.save(input)) form.hidden = true;
  };
  replace(form, h("form", { onsubmit: save, "aria-label": "Rating" },
    h("fieldset", { class: "scale" }, h("legend", {}, "How good was it?"),
      [1, 2, 3, 4, 5].map((value) => h("label", {}, h("input", { type: "radio", name, value, checked: value === score, "aria-label": `${value} of 5` }), h("span", {}, value)))),
    h("fieldset", { class: "tags" }, h("legend", {}, "Why?"),
      order.map((tag) => h("label", { class: "tag" }, h("input", { type: "checkbox", name: "tag", value: tag, checked: (tags || []).includes(tag) }), h("span", {}, TAGS[tag])))),
    comment,
    h("div", { class: "rating-actions" },
      h("button", { type: "button", class: "button quiet small", onclick: () => { form.hidden = true; } }, "Close"),
      h("button", { type: "submit", class: "button primary small" }, "Save details"))));
  form.hidden = false;
  form.scrollIntoView({ block: "nearest" });
}
